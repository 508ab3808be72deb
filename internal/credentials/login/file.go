package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
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
