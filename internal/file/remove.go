package file

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// RemoveTree removes a directory with all that is in it, also what overlayfs or an agent
// left without permissions, and however deep it is. A link is removed, not followed. Nobody
// else may be writing in it. What cannot be removed stays, and is said; all else goes.
func RemoveTree(dir string) error {
	dir = filepath.Clean(dir)
	if rest, err := removeOne(unix.AT_FDCWD, dir); !rest {
		return wrap(dir, err)
	}
	top, err := openOwn(unix.AT_FDCWD, dir)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return wrap(dir, err)
	}
	defer top.Close()
	r := remover{top: int(top.Fd())}
	for again := true; again; again = r.moved {
		r.moved, r.first = false, nil
		if _, err := top.Seek(0, io.SeekStart); err != nil {
			return wrap(dir, err)
		}
		r.empty(top, 1)
	}
	_, err = removeOne(unix.AT_FDCWD, dir)
	if r.first != nil {
		err = r.first
	}
	return wrap(dir, err)
}

func wrap(dir string, err error) error {
	if err != nil {
		err = fmt.Errorf("remove %s: %w", dir, err)
	}
	return err
}

// deepest is how many directories are open at once. One that lies deeper is moved up to
// the top, and its turn comes then: no path grows.
const deepest = 32

// remover removes what is in one directory.
type remover struct {
	top   int
	names int   // of those that were moved up
	moved bool  // one was, and may not have been seen yet
	first error // that something could not be removed
}

// empty removes what is in a directory.
func (r *remover) empty(dir *os.File, depth int) {
	for {
		names, err := dir.Readdirnames(1000)
		for _, n := range names {
			r.remove(int(dir.Fd()), n, depth)
		}
		if err != nil || len(names) == 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				r.fail(err)
			}
			return
		}
	}
}

func (r *remover) remove(in int, name string, depth int) {
	rest, err := removeOne(in, name)
	if !rest {
		r.fail(err)
		return
	}
	dir, err := openOwn(in, name)
	if err != nil {
		r.fail(err)
		return
	}
	defer dir.Close()
	if depth == deepest {
		r.fail(r.moveUp(in, name))
		return
	}
	r.empty(dir, depth+1)
	_, err = removeOne(in, name)
	r.fail(err)
}

// fail notes what could not be removed. What is not there was removed by somebody else, as a
// far end does that ends at the same time.
func (r *remover) fail(err error) {
	if r.first == nil && !errors.Is(err, unix.ENOENT) {
		r.first = err
	}
}

// moveUp moves a directory to the top, under a name that is free there.
func (r *remover) moveUp(in int, name string) error {
	for {
		err := unix.Renameat(in, name, r.top, "deep-"+strconv.Itoa(r.names))
		r.names++
		switch {
		case err == nil:
			r.moved = true
			return nil
		case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.ENOTDIR):
		default:
			return err
		}
	}
}

// removeOne removes a name, if it is no directory with something in it: of that it says so.
func removeOne(in int, name string) (rest bool, err error) {
	err = unix.Unlinkat(in, name, 0)
	if errors.Is(err, unix.EISDIR) {
		err = unix.Unlinkat(in, name, unix.AT_REMOVEDIR)
		rest = errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)
	}
	if errors.Is(err, unix.ENOENT) {
		err = nil
	}
	return rest, err
}

// allowOwner gives the owner of a directory all rights to it, and follows no link.
func allowOwner(in int, name string) error {
	fd, err := unix.Openat(in, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return os.Chmod("/proc/self/fd/"+strconv.Itoa(fd), 0o700)
}

// openOwn opens a directory, and gives its owner all rights to it.
func openOwn(in int, name string) (*os.File, error) {
	const how = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Openat(in, name, how, 0)
	if errors.Is(err, unix.EACCES) {
		if err = allowOwner(in, name); err == nil {
			fd, err = unix.Openat(in, name, how, 0)
		}
	}
	if err != nil {
		return nil, err
	}
	unix.Fchmod(fd, 0o700) // if that fails, so does what follows
	return os.NewFile(uintptr(fd), name), nil
}
