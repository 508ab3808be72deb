package keeper

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// links knows the files to which the session itself gave further names: to write
// one of them is to write them all, as it meant to.
type links struct {
	mu sync.Mutex
	of map[node]bool
}

const (
	maxLinked = 1 << 16
	maxParted = 1 << 30 // bytes
)

func (l *links) has(t *target) bool {
	n, _, ok := nodeAt(t.dir, t.name)
	l.mu.Lock()
	defer l.mu.Unlock()
	return ok && l.of[n]
}

func (l *links) add(t *target) {
	n, _, ok := nodeAt(t.dir, t.name)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil || len(l.of) >= maxLinked {
		l.of = map[node]bool{}
	}
	l.of[n] = true
}

// part makes a file that has other names on the host a file of its own before it is
// written: the other name may be a hook, or a package in the store of another
// project.
func (w *worker) part(t *target) error {
	if t.st.Nlink < 2 || t.kind() != unix.S_IFREG || w.links.has(t) {
		return nil
	}
	if t.st.Size > maxParted {
		return unix.EFBIG
	}
	in, err := openFile(t.dir, t.name, unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	src := os.NewFile(uintptr(in), t.name)
	defer src.Close()
	var b [8]byte
	rand.Read(b[:])
	temp := ".ringfence-part-" + hex.EncodeToString(b[:])
	out, err := unix.Openat(t.dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	dst := os.NewFile(uintptr(out), temp)
	defer dst.Close()
	if unix.IoctlFileClone(out, in) != nil {
		_, err = io.Copy(dst, io.LimitReader(src, maxParted))
	}
	if err == nil {
		err = unix.Fchmod(out, t.st.Mode&0o777)
	}
	if err == nil {
		err = unix.Fstat(out, &t.st)
	}
	if err == nil {
		w.young.add(out)
		err = unix.Renameat(t.dir, temp, t.dir, t.name)
	}
	if err != nil {
		unix.Unlinkat(t.dir, temp, 0)
	}
	return err
}
