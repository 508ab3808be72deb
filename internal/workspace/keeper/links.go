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
func (w *work) part(t *target) error {
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
	own, err := w.copyOwn(t, os.NewFile(uintptr(in), t.name))
	if err != nil {
		return err
	}
	return own.Close()
}

// copyOwn puts a copy in the place of a file, and returns that: no other name and
// nobody who has the file open leads to it. It closes the file.
func (w *work) copyOwn(t *target, f *os.File) (*os.File, error) {
	defer f.Close()
	var b [8]byte
	rand.Read(b[:])
	temp := reserved + "own-" + hex.EncodeToString(b[:])
	fd, err := unix.Openat(t.dir, temp, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	own := os.NewFile(uintptr(fd), temp)
	if unix.IoctlFileClone(fd, int(f.Fd())) != nil {
		_, err = io.Copy(own, io.LimitReader(f, maxParted))
	}
	if err == nil {
		err = unix.Fchmod(fd, t.st.Mode&0o777)
	}
	if err == nil {
		err = unix.Fstat(fd, &t.st)
	}
	if err == nil {
		w.recent.add(fd)
		err = unix.Renameat(t.dir, temp, t.dir, t.name)
		w.locks(t, err)
	}
	if err == nil {
		_, err = own.Seek(0, io.SeekStart)
	}
	if err != nil {
		unix.Unlinkat(t.dir, temp, 0)
		own.Close()
		return nil, err
	}
	return own, nil
}
