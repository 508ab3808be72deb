package drill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

const prefix = "ringfence-drill-"

// places are the directories of a drill: one in ringfence's state, for what a session
// keeps, and one in /tmp, because ringfence's state is refused as a workspace.
type places struct {
	state, tmp string
	undo       []func()
}

// openPlaces returns the places even with an error, so that what stands already can
// be removed.
func openPlaces(state string) (*places, error) {
	p := &places{}
	if err := p.mkdirAll(state); err != nil {
		return p, err
	}
	for _, d := range []struct {
		dst  *string
		base string
	}{{&p.state, state}, {&p.tmp, "/tmp"}} {
		sweep(d.base)
		var err error
		if *d.dst, err = p.private(d.base); err != nil {
			return p, err
		}
	}
	return p, nil
}

// remove takes everything away, last first.
func (p *places) remove() {
	for _, f := range slices.Backward(p.undo) {
		f()
	}
	p.undo = nil
}

// private makes a directory that only we can enter and holds a lock on it, by which
// a later drill knows that it is in use.
func (p *places) private(base string) (string, error) {
	dir, err := os.MkdirTemp(base, prefix)
	if err != nil {
		return "", err
	}
	p.undo = append(p.undo, func() { file.RemoveTree(dir) })
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	f, err := file.LockDir(real, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return "", err
	}
	p.undo = append(p.undo, func() { f.Close() })
	return real, nil
}

// sweep removes what a drill that was killed left in base: our own directories that
// nobody holds. One that is quite new may only not be locked yet.
func sweep(base string) {
	left, err := filepath.Glob(filepath.Join(base, prefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range left {
		st, err := os.Lstat(dir)
		if err != nil || !st.IsDir() || time.Since(st.ModTime()) < time.Minute || int(st.Sys().(*syscall.Stat_t).Uid) != os.Geteuid() {
			continue
		}
		if f, err := file.LockDir(dir, unix.LOCK_EX|unix.LOCK_NB); err == nil {
			file.RemoveTree(dir)
			f.Close()
		}
	}
}

// mkdirAll makes dir and remembers which of its ancestors are new, so that they go
// again, if nobody else has used them meanwhile.
func (p *places) mkdirAll(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("state directory %q is not absolute", dir)
	}
	var missing []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		missing = append(missing, d)
	}
	for _, d := range slices.Backward(missing) {
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		p.undo = append(p.undo, func() { os.Remove(d) })
	}
	return nil
}
