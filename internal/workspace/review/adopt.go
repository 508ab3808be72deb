package review

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"syscall"

	"golang.org/x/sys/unix"
)

// The bounds of what is made ready before a session in the review view.
const (
	maxLooked = 20000    // entries of a tree
	maxCopied = 64 << 20 // bytes of files
)

// errBound ends a walk.
var errBound = errors.New("bound reached")

// Adopt makes the layer of a tree ready for what belongs to somebody else and can be
// changed all the same, as in a directory that a group shares. A sandbox knows one user
// and one group. To change what has another, overlayfs would have to bring that along
// to the layer, and refuses: "value too large for defined data type". What is in the
// layer already it changes like anything else.
//
// rest names a path from which on nothing was made ready, because a bound was reached;
// changes to such files fail from there on. It is empty where all was.
func (w *Work) Adopt(n, uid, gid int) (rest string, err error) {
	from, err := os.OpenRoot(w.Trees[n].Path)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.OpenRoot(w.Upper(n))
	if err != nil {
		return "", err
	}
	defer to.Close()
	a := adoption{from: from, to: to, uid: uint32(uid), gid: uint32(gid), looked: maxLooked, copied: maxCopied}
	err = fs.WalkDir(from.FS(), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == "." {
			return skip(e, err)
		}
		return a.one(p, e)
	})
	if errors.Is(err, errBound) {
		return a.last, nil
	}
	if err != nil {
		return "", fmt.Errorf("make the layer of %q ready: %w", w.Trees[n].Path, err)
	}
	return "", nil
}

// skip leaves out what cannot be read, or is gone: the agent finds the same.
func skip(e fs.DirEntry, err error) error {
	if err != nil && e != nil && e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

type adoption struct {
	from, to *os.Root
	uid, gid uint32
	looked   int
	copied   int64
	found    bool   // something belongs to somebody else
	last     string // where it ended
}

func (a *adoption) one(p string, e fs.DirEntry) error {
	st, err := e.Info()
	if err != nil {
		return skip(e, err)
	}
	if a.looked--; a.looked < 0 {
		a.last = p
		if !a.found { // nothing says that there is any more of it
			a.last = ""
		}
		return errBound
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	if !ok || own.Uid == a.uid && own.Gid == a.gid || !a.changeable(p, own) {
		return nil
	}
	a.found = true
	switch {
	case st.IsDir():
		return a.directory(p)
	case st.Mode().IsRegular():
		if a.copied -= st.Size(); a.copied < 0 {
			a.last = p
			return errBound
		}
		if err := a.directory(path.Dir(p)); err != nil {
			return err
		}
		if err := copyFile(a.from, a.to, p, st); err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		a.group(p, own.Gid)
	}
	return nil
}

// group keeps the group that something has on the host, as far as its owner can give it:
// what is applied later has that of the layer.
func (a *adoption) group(p string, gid uint32) { a.to.Lchown(p, -1, int(gid)) }

// changeable holds for what the agent could change on the host: what is the user's own,
// or open to the user by a group. Root inside has no right of its own over others' files.
func (a *adoption) changeable(p string, own *syscall.Stat_t) bool {
	if own.Uid == a.uid {
		return true
	}
	dir, err := a.from.Open(path.Dir(p))
	if err != nil || os.Geteuid() == 0 {
		return false
	}
	defer dir.Close()
	return unix.Faccessat(int(dir.Fd()), path.Base(p), unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW) == nil
}

// directory makes one in the layer with all above it, each with the mode that it has on
// the host: then it is no change.
func (a *adoption) directory(p string) error {
	if p == "." {
		return nil
	}
	if _, err := a.to.Lstat(p); err == nil {
		return nil
	}
	if err := a.directory(path.Dir(p)); err != nil {
		return err
	}
	st, err := a.from.Lstat(p)
	if err != nil || !st.IsDir() {
		return nil // gone meanwhile: what is below it will not be found either
	}
	if err := a.to.Mkdir(p, 0o700); err != nil {
		return err
	}
	if own, ok := st.Sys().(*syscall.Stat_t); ok {
		a.group(p, own.Gid) // before the mode: it takes the setgid bit away
	}
	return a.to.Chmod(p, st.Mode()&(fs.ModePerm|fs.ModeSetgid|fs.ModeSticky|fs.ModeSetuid))
}
