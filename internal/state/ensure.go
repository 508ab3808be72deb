package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Item is a directory or a file that a session needs below a project's home.
type Item struct {
	Path string // relative to home, clean
	Dir  bool
	Mode uint32 // permissions when it is made; 0 means 0700 and 0600
	Seed []byte // first content of a file; what exists is never written
	// Amend returns another content for a file that exists, nil if it stays. May be nil.
	Amend func(now []byte) []byte
}

// Placed is an item as it stands on the host, ready to be attached.
type Placed struct {
	Path     string // absolute, without symlinks
	Dev, Ino uint64 // what was judged; anything else at Path is not it
	Aside    string // where what stood in its way was moved, or ""
}

// Ensure makes sure that every item is there and of its kind. When all are, it
// costs a lookup each. A symlink or anything else of the wrong kind, be it the
// item or a directory above it, is moved to the project's aside directory without
// being followed: kept, because it may be work or evidence.
func (p *Project) Ensure(items []Item) ([]Placed, error) {
	placed := make([]Placed, 0, len(items))
	if err := unlockFD(p.home); err != nil {
		return nil, fmt.Errorf("state %q: %w", p.Home(), err)
	}
	for _, it := range items {
		pl, err := p.ensure(it)
		if err != nil {
			return nil, fmt.Errorf("state %q: %w", filepath.Join(p.Home(), it.Path), err)
		}
		placed = append(placed, pl)
	}
	return placed, nil
}

func (p *Project) ensure(it Item) (Placed, error) {
	pl := Placed{Path: filepath.Join(p.Home(), it.Path)}
	if !filepath.IsLocal(it.Path) || filepath.Clean(it.Path) != it.Path || it.Path == "." {
		return pl, errors.New("not a path below the project's home")
	}
	for range tries {
		ok, err := p.identify(it, &pl)
		if ok && it.Amend != nil {
			if err = p.amend(it); err == nil {
				ok, err = p.identify(it, &pl)
			}
		}
		if ok || err != nil {
			return pl, err
		}
		if err := p.place(it, &pl); err != nil {
			return pl, err
		}
	}
	return pl, errRestless
}

// A session of the same project may change what is being looked at; it gets so
// many chances to let us finish.
const tries = 16

var errRestless = errors.New("changes while it is looked at")

// identify reports whether the item stands, and which inode it is.
func (p *Project) identify(it Item, pl *Placed) (bool, error) {
	fd, err := openAt(p.home, it.Path, unix.O_PATH, 0)
	switch err {
	case nil:
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES:
		return false, nil
	default:
		return false, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return false, err
	}
	pl.Dev, pl.Ino = st.Dev, st.Ino
	return st.Mode&unix.S_IFMT == it.kind(), nil
}

func (it Item) kind() uint32 {
	if it.Dir {
		return unix.S_IFDIR
	}
	return unix.S_IFREG
}

func (it Item) mode() uint32 {
	switch {
	case it.Mode != 0:
		return it.Mode & 0o777
	case it.Dir:
		return 0o700
	}
	return 0o600
}

// place walks down to the item, making or clearing one component at a time.
func (p *Project) place(it Item, pl *Placed) error {
	at, err := openAt(p.home, ".", unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer func() { unix.Close(at) }()
	parts := strings.Split(it.Path, "/")
	for i, name := range parts {
		if i == len(parts)-1 && !it.Dir {
			return p.placeFile(at, name, it, pl)
		}
		mode := uint32(0o700)
		if i == len(parts)-1 {
			mode = it.mode()
		}
		sub, err := p.placeDir(at, name, mode, pl)
		if err != nil {
			return err
		}
		unix.Close(at)
		at = sub
	}
	return nil
}

// placeDir returns the directory name in at, making it if need be.
func (p *Project) placeDir(at int, name string, mode uint32, pl *Placed) (int, error) {
	for range tries {
		fd, err := openAt(at, name, unix.O_PATH|unix.O_DIRECTORY, 0)
		switch err {
		case nil:
			if err = unlockFD(fd); err != nil {
				unix.Close(fd)
			}
			return fd, err
		case unix.ENOENT:
			if err = unix.Mkdirat(at, name, mode); err == unix.EEXIST {
				err = nil
			}
		case unix.ENOTDIR, unix.ELOOP:
			err = p.setAside(at, name, pl)
		}
		if err != nil {
			return -1, err
		}
	}
	return -1, errRestless
}

// placeFile makes the file name in at, or clears the way for it.
func (p *Project) placeFile(at int, name string, it Item, pl *Placed) error {
	var st unix.Stat_t
	err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	switch {
	case err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG:
		return nil
	case err == nil:
		err = p.setAside(at, name, pl)
	case err == unix.ENOENT:
		err = nil
	}
	if err != nil {
		return err
	}
	return p.writeNew(at, name, it)
}

// setAside moves name out of the agent's reach and out of our way.
func (p *Project) setAside(at int, name string, pl *Placed) error {
	// Moving a directory writes its "..".
	if err := unlock(at, name); err != nil && err != unix.ENOTDIR && err != unix.ELOOP && err != unix.ENOENT {
		return err
	}
	to := filepath.Join(asideName, NewID())
	if err := unix.Renameat(at, name, p.fd, to); err != nil && err != unix.ENOENT {
		return err
	}
	step("set aside")
	pl.Aside = filepath.Join(p.dir, to)
	return nil
}

// writeNew makes a complete file outside of home and moves it to name in at,
// never onto something: no reader sees half a seed, and no planted name is opened.
func (p *Project) writeNew(at int, name string, it Item) error {
	if err := sweep(p.fd); err != nil {
		return err
	}
	tmp, fd, err := scratch(p.fd, false)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), tmp)
	defer f.Close()
	if _, err = f.Write(it.Seed); err == nil {
		err = f.Chmod(os.FileMode(it.mode()))
	}
	step("seed written")
	if err == nil {
		err = unix.Renameat2(p.fd, tmp, at, name, unix.RENAME_NOREPLACE)
	}
	if err == unix.EINVAL { // NFS knows no such flag
		if err = unix.Linkat(p.fd, tmp, at, name, 0); err == nil {
			return unix.Unlinkat(p.fd, tmp, 0)
		}
	}
	if err != nil {
		err = errors.Join(err, unix.Unlinkat(p.fd, tmp, 0))
	}
	if errors.Is(err, unix.EEXIST) {
		return nil // another session was faster; what it made is looked at next
	}
	return err
}
