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

type node struct{ dev, ino uint64 }

const maxLinked = 1 << 16

func (l *links) has(st *unix.Stat_t) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[node{st.Dev, st.Ino}]
}

func (l *links) add(st *unix.Stat_t) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil || len(l.of) >= maxLinked {
		l.of = map[node]bool{}
	}
	l.of[node{st.Dev, st.Ino}] = true
}

// part makes a file that has other names on the host a file of its own before it is
// written: the other name may be a hook, or a package in the store of another
// project.
func (w *worker) part(t *target) error {
	if t.st.Nlink < 2 || t.kind() != unix.S_IFREG || w.links.has(&t.st) {
		return nil
	}
	in, err := unix.Openat(t.dir, t.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
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
		_, err = io.Copy(dst, src)
	}
	if err == nil {
		err = unix.Fchmod(out, t.st.Mode&0o777)
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
