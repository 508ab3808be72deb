package verify

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
)

const prefix = "ringfence-verify-"

// directories makes a private directory at every place that a sandbox must have
// one of its own at.
func (p *plant) directories(state, runtime string) error {
	if err := p.mkdirAll(state); err != nil {
		return err
	}
	base, usual := runtimeBase(runtime)
	if !usual {
		p.standIn["runtime"] = "no user runtime directory here; " + base + " stands for it"
	}
	for _, d := range []struct {
		dst  *string
		base string
	}{{&p.state, state}, {&p.tmp, "/tmp"}, {&p.varTmp, "/var/tmp"}, {&p.shm, "/dev/shm"}, {&p.runtime, base}} {
		if _, err := os.Stat(d.base); d.base == "/var/tmp" && errors.Is(err, fs.ErrNotExist) {
			continue // as in small containers: nothing to be found there
		}
		sweep(d.base)
		var err error
		if *d.dst, err = p.private(d.base); err != nil {
			return err
		}
	}
	// The workspace stands with one sibling in a directory of their own: in /tmp,
	// because ringfence's state is refused as a workspace.
	room := filepath.Join(p.tmp, "room")
	p.workspace, p.sibling, p.own = filepath.Join(room, "workspace"), filepath.Join(room, "sibling"), filepath.Join(p.state, "own")
	for _, d := range []string{room, p.workspace, p.sibling, p.own} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	return p.trees()
}

// private makes a directory that only we can enter and holds a lock on it, by
// which a later run knows that it is in use.
func (p *plant) private(base string) (string, error) {
	dir, err := os.MkdirTemp(base, prefix)
	if err != nil {
		return "", err
	}
	p.later(func() { os.RemoveAll(dir) })
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	f, err := file.LockDir(real, unix.LOCK_EX|unix.LOCK_NB)
	if err != nil {
		return "", err
	}
	p.later(func() { f.Close() })
	return real, nil
}

// sweep removes what a run that was killed left in base: our own directories that
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
			os.RemoveAll(dir)
			f.Close()
		}
	}
}

// mkdirAll makes dir and remembers which of its ancestors are new, so that they go
// again, if nobody else has used them meanwhile.
func (p *plant) mkdirAll(dir string) error {
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
	for i := len(missing) - 1; i >= 0; i-- {
		d := missing[i]
		if err := os.Mkdir(d, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		p.later(func() { os.Remove(d) })
	}
	return nil
}

func runtimeDir(environ []string) string {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, "XDG_RUNTIME_DIR="); ok {
			return v
		}
	}
	return ""
}

// runtimeBase finds the user's runtime directory, or another directory of /run
// that this user can write; on a machine without any, /tmp has to stand for it.
func runtimeBase(given string) (base string, usual bool) {
	own := "/run/user/" + strconv.Itoa(os.Geteuid())
	for _, d := range []string{given, own, "/run/lock", "/run"} {
		if st, err := os.Stat(d); filepath.IsAbs(d) && err == nil && st.IsDir() && unix.Access(d, unix.W_OK|unix.X_OK) == nil {
			return d, d == given || d == own
		}
	}
	return "/tmp", false
}
