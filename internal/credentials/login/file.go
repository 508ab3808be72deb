package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// maxFile bounds a client's file.
const maxFile = 1 << 20

// stamp tells one content of a file from another without reading it.
type stamp struct {
	dev, ino     uint64
	size         int64
	mtime, ctime unix.Timespec
}

// stampOf follows links: what counts is the file that is read.
func stampOf(path string) (stamp, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return stamp{}, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return stampFrom(&st), nil
}

func stampFrom(st *unix.Stat_t) stamp {
	return stamp{dev: st.Dev, ino: st.Ino, size: st.Size, mtime: st.Mtim, ctime: st.Ctim}
}

// contents is a client's file as it was at one moment.
type contents struct {
	doc   *document
	grant grant
	stamp stamp
}

// read reads the client's file. Some clients write in place: what is not whole is
// read again a little later before it counts as broken.
func (l *Login) read(ctx context.Context) (contents, error) {
	var f contents
	var err error
	for wait := 10 * time.Millisecond; wait < 200*time.Millisecond; wait *= 2 {
		if f, err = l.readOnce(); !errors.Is(err, errBroken) {
			break
		}
		if pause(ctx, wait) != nil {
			break
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNone):
		return f, fault.New(fault.Failed, l.format.again, "%s is not logged in: %s: %w", l.c.Agent, l.c.Path, err)
	case err != nil:
		return f, fmt.Errorf("read login of %s: %s: %w", l.c.Agent, l.c.Path, err)
	}
	return f, nil
}

// errBroken is in the chain of an error about a file that is not JSON.
var errBroken = errors.New("not whole")

func (l *Login) readOnce() (contents, error) {
	if err := l.c.Unseen(l.c.Path); err != nil {
		return contents{}, err
	}
	// A fifo must not hold us.
	fd, err := unix.Open(l.c.Path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return contents{}, err
	}
	file := os.NewFile(uintptr(fd), l.c.Path)
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return contents{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return contents{}, errors.New("not a regular file")
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return contents{}, err
	}
	if len(text) > maxFile {
		return contents{}, fmt.Errorf("longer than %d bytes", maxFile)
	}
	doc, err := parseDocument(text)
	if err != nil {
		return contents{}, fmt.Errorf("%w: %w", errBroken, err)
	}
	g, err := l.format.read(doc)
	return contents{doc, g, stampFrom(&st)}, err
}

// replace puts a new text in the place of a file, whole or not at all. Behind a link
// it is the target that is replaced. Mode and owner stay.
func replace(path string, text []byte) error {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Lstat(target, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: target, Err: err}
	}
	return write(target, text, func(f *os.File) error {
		if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
			if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
				return err
			}
		}
		return f.Chmod(os.FileMode(st.Mode & 0o777))
	})
}

// write makes a file by way of a temporary one beside it.
func write(path string, text []byte, prepare func(*os.File) error) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".ringfence-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(text)
	if err == nil {
		err = prepare(f)
	}
	if err == nil {
		err = f.Sync()
	}
	if close := f.Close(); err == nil {
		err = close
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes a rename last. A file system that cannot is no reason to fail.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	if err := d.Sync(); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	return nil
}
