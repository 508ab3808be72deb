package history

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Copies lists what was copied to the host, the oldest first.
func Copies(memory string) ([]Copy, error) {
	m, err := openMemory(memory)
	if err != nil {
		return nil, err
	}
	defer m.close()
	return m.Copies, nil
}

// TakeBack undoes what a session copied to the host, the last first: what it made goes, and
// what it continued ends where it did. What somebody changed since stays as it is. The
// agent inside keeps its own.
func TakeBack(memory, session string) (Report, error) {
	m, err := openMemory(memory)
	var r Report
	if err != nil {
		return r, err
	}
	defer m.close()
	for i := range slices.Backward(m.Copies) {
		c := &m.Copies[i]
		if c.Session != session || c.Back {
			continue
		}
		if err := c.takeBack(); err != nil {
			r.leave(c.Path, err.Error())
			continue
		}
		c.Back = true
		r.Copied = append(r.Copied, c.Path)
	}
	return r, m.save()
}

func (c *Copy) takeBack() error {
	dir, err := os.OpenFile(filepath.Dir(c.Path), os.O_RDONLY|directoryFlags, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	s, name := &side{dir}, filepath.Base(c.Path)
	defer s.close()
	text, err := s.read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it is gone already
	case err != nil:
		return err
	case sum(text) != c.Sum:
		return errors.New("it was changed since")
	case c.Was == 0:
		return unix.Unlinkat(int(dir.Fd()), name, 0)
	}
	f, err := s.open(name, unix.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	if now, err := s.read(name); err != nil || !bytes.Equal(now, text) {
		return errors.Join(err, errors.New("it was changed since"))
	}
	return errors.Join(f.Truncate(int64(c.Was)), f.Sync())
}
