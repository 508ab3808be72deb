package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
)

func tempName() string { return tempPrefix + strconv.FormatUint(rand.Uint64(), 10) }

// make makes an original under its name. A file or a link is finished under another
// name first and then takes the place of what is there; a directory is simply
// made, and open for us until the end.
func (w *writer) make(t *original) error {
	dir, name, err := w.parent(t.home)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if t.node.kind == change.Directory {
		if err := w.aboutToMake(t.home, true); err != nil {
			return err
		}
		w.failpoint("mkdir")
		if err := unix.Mkdirat(dir, name, 0o700); err != nil {
			return err
		}
		w.modes[t.home] = t.node.mode
		return w.chown(dir, name, t.node)
	}
	return w.takePlace(t, dir, name, func(temp string) error {
		if t.node.kind == change.Symlink {
			return w.makeLink(t, dir, temp)
		}
		return w.makeFile(t, dir, temp)
	})
}

// takePlace makes something under a temporary name, noted, and puts it where an original was.
func (w *writer) takePlace(t *original, dir int, name string, fill func(temp string) error) error {
	temp := tempName()
	parent, _ := split(t.home.rel)
	at := place{t.home.tree, join(parent, temp)}
	err := w.aboutToMake(at, false)
	if err == nil {
		err = w.note(&record{op: opTemp, from: at})
	}
	if err != nil {
		return err
	}
	failed := func() {}
	if err = fill(temp); err == nil {
		err = w.unname(dir, name)
	}
	if err == nil {
		err = w.aboutTo(t.home, Remove)
	}
	if err == nil {
		failed, err = w.aboutToRename(at, t.home, false)
	}
	if err == nil {
		w.failpoint("rename")
		if err = unix.Renameat(dir, temp, dir, name); err != nil {
			failed()
		}
	}
	if err != nil {
		w.failpoint("unlink")
		unix.Unlinkat(dir, temp, 0)
	}
	return errors.Join(err, w.note(&record{op: opDone}))
}

func (w *writer) makeLink(t *original, dir int, temp string) error {
	w.failpoint("symlink")
	if err := unix.Symlinkat(t.node.link, dir, temp); err != nil {
		return err
	}
	if err := w.chown(dir, temp, t.node); err != nil {
		return err
	}
	return w.setTime(dir, temp, t.node)
}

func (w *writer) makeFile(t *original, dir int, temp string) error {
	src, err := w.openBlob(t.blob)
	if err != nil {
		return err
	}
	defer src.Close()
	w.failpoint("create")
	dst, err := unix.Openat(dir, temp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	if err := w.fill(dst, src, t.node.size); err != nil {
		return err
	}
	if err := w.chown(dir, temp, t.node); err != nil {
		return err
	}
	w.failpoint("chmod")
	if err := unix.Fchmod(dst, safeMode(dst, t.node)); err != nil {
		return err
	}
	if err := w.setTime(dir, temp, t.node); err != nil {
		return err
	}
	w.failpoint("fsync")
	return toDisk(dst)
}

func (w *writer) fill(dst int, src *os.File, size int64) error {
	w.failpoint("write")
	return sys.CopyData(dst, int(src.Fd()), size)
}

// chown gives an entry its owner back, where we may.
func (w *writer) chown(dir int, name string, was *image) error {
	e, err := look(dir, name)
	if err != nil || e.uid == was.uid && e.gid == was.gid {
		return err
	}
	w.failpoint("chown")
	err = unix.Fchownat(dir, name, int(was.uid), int(was.gid), unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	return err
}

// safeMode is the mode of before; without the bits that lend the owner's rights
// when the owner is another one.
func safeMode(fd int, was *image) uint32 {
	e, err := look(fd, "")
	if err != nil || e.uid != was.uid || e.gid != was.gid {
		return was.mode &^ 0o6000
	}
	return was.mode
}

// remake makes an original, over e if there is something. A file that has other names
// too gets its content for all of them.
func (r *restorer) remake(t *original, e entry) error {
	mine := e.ident == t.node.ident
	kept, name, err := r.keptInode(t)
	if err != nil {
		return err
	}
	defer unix.Close(kept)
	was, err := look(kept, name)
	switch {
	case mine && r.itself(t, e):
		return r.setNode(t, e) // nobody wrote to it
	case missing(err) && mine && e.many:
		return r.overwriteHome(t)
	case missing(err) || t.blob == 0:
		return r.make(t)
	case err != nil:
		return err
	case mine && was.links > 2:
		return r.overwriteHome(t)
	case mine || was.links < 2 || was.ident != t.node.ident || r.late(was):
		return r.make(t)
	}
	if err := r.overwrite(t, kept, name); err != nil {
		return err
	}
	err = r.linkHome(t, kept, name)
	if errors.Is(err, unix.EXDEV) || errors.Is(err, unix.EPERM) {
		return r.make(t)
	}
	return err
}

// keptInode opens the directory in which a file with several names has one more.
func (w *writer) keptInode(t *original) (dir int, name string, err error) {
	path := filepath.Join(w.dir, keptName)
	dir, err = unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	return dir, inodeName(t.node.ident), err
}

// linkHome gives a file its name back.
func (w *writer) linkHome(t *original, kept int, inode string) error {
	dir, name, err := w.parent(t.home)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return w.takePlace(t, dir, name, func(temp string) error {
		w.failpoint("link")
		return unix.Linkat(kept, inode, dir, temp, 0)
	})
}

func (w *writer) overwriteHome(t *original) error {
	dir, name, err := w.parent(t.home)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if err := w.aboutTo(t.home, Write); err != nil {
		return err
	}
	return w.overwrite(t, dir, name)
}

// overwrite writes the content of before into a file that has other names, which
// are to have it too. It is the one step that is not done at a stroke: a run
// that is killed here must be run again.
func (w *writer) overwrite(t *original, dir int, name string) error {
	if err := w.begin(t.node.ident); err != nil {
		return err
	}
	src, err := w.openBlob(t.blob)
	if err != nil {
		return err
	}
	defer src.Close()
	w.failpoint("chmod")
	if err := unlock(dir, name, 0o200); err != nil {
		return err
	}
	dst, err := openAt(dir, name, unix.O_WRONLY|unix.O_NONBLOCK|unix.O_NOCTTY)
	if err != nil {
		return err
	}
	defer unix.Close(dst)
	if e, err := look(dst, ""); err != nil || e.ident != t.node.ident || w.itself(t, e) {
		return errors.Join(err, fmt.Errorf("%q is another file now: %w", t.home.rel, unix.ESTALE))
	}
	w.failpoint("truncate")
	if err := unix.Ftruncate(dst, 0); err != nil {
		return err
	}
	if err := w.fill(dst, src, t.node.size); err != nil {
		return err
	}
	w.failpoint("chmod")
	if err := unix.Fchmod(dst, safeMode(dst, t.node)); err != nil {
		return err
	}
	if err := w.setTime(dir, name, t.node); err != nil {
		return err
	}
	w.failpoint("fsync")
	return toDisk(dst)
}
