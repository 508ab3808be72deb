package state

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxAmended bounds a file that is written anew.
const maxAmended = 16 << 20

// amend gives a file that is there another content, in one step. A session that has
// the file mounted goes on with the old one.
func (p *Project) amend(it Item) error {
	fd, err := openAt(p.home, it.Path, unix.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return ignoreGone(err)
	}
	f := os.NewFile(uintptr(fd), it.Path)
	defer f.Close()
	st, err := f.Stat()
	if err != nil || !st.Mode().IsRegular() || st.Size() > maxAmended {
		return err
	}
	now, err := io.ReadAll(io.LimitReader(f, maxAmended))
	if err != nil {
		return err
	}
	next := it.Amend(now)
	if next == nil {
		return nil
	}
	at, err := openAt(p.home, filepath.Dir(it.Path), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return ignoreGone(err)
	}
	defer unix.Close(at)
	return p.replace(at, filepath.Base(it.Path), next, it.mode())
}

// ignoreGone: what cannot be opened is not amended. The agent may have taken its own
// rights away.
func ignoreGone(err error) error {
	switch err {
	case unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EACCES:
		return nil
	}
	return err
}

// replace makes a complete file outside of home and moves it onto name.
func (p *Project) replace(at int, name string, data []byte, mode uint32) error {
	if err := sweep(p.fd); err != nil {
		return err
	}
	tmp, fd, err := scratch(p.fd, false)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), tmp)
	defer f.Close()
	if _, err = f.Write(data); err == nil {
		err = errors.Join(f.Chmod(os.FileMode(mode)), f.Sync())
	}
	if err == nil {
		err = unix.Renameat(p.fd, tmp, at, name)
	}
	if err != nil {
		err = errors.Join(err, unix.Unlinkat(p.fd, tmp, 0))
	}
	return err
}
