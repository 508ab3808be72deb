package layer

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/change"
)

// typeOf says what a name stands for.
func typeOf(st *unix.Stat_t) change.Type {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return change.File
	case unix.S_IFDIR:
		return change.Directory
	case unix.S_IFLNK:
		return change.Symlink
	}
	return change.Special
}

func isDir(st *unix.Stat_t) bool { return st != nil && typeOf(st) == change.Directory }

// node reads one side of a change, and whether it is a file of ASCII alone. A file is
// hashed as a stream, if check has nothing against it.
func (t *tree) node(rel string, st *unix.Stat_t, check func(fd int) error) (_ *change.Node, plain bool, _ error) {
	n := &change.Node{Type: typeOf(st), Mode: st.Mode & 0o7777}
	switch n.Type {
	case change.Symlink:
		link, err := t.readlink(rel)
		n.Link = link
		return n, false, err
	case change.File:
		if all := t.read.Add(st.Size); st.Size > maxRead || all > maxReadAll {
			return &change.Node{Type: change.Special, Mode: n.Mode, Size: st.Size}, false, nil
		}
		fd, err := t.openFile(rel)
		if err != nil {
			return n, false, err
		}
		defer unix.Close(fd)
		if check != nil {
			if err := check(fd); err != nil {
				return n, false, err
			}
		}
		d, err := digest(descriptor(fd))
		if n.Size = d.Size; err == nil {
			n.Hash = d.Hash()
		}
		return n, d.Plain && err == nil, err
	}
	return n, false, nil
}

// maxRead bounds the files that are read and brought over. A larger one is told like
// what is no file: an agent makes one of terabytes with a single call, and nobody
// could wait for it.
const (
	maxRead    = 4 << 30
	maxReadAll = 16 << 30 // of one side, in one look
)

func (t *tree) readlink(rel string) (string, error) {
	fd, err := t.open(rel, unix.O_PATH)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	return string(buf[:max(n, 0)]), err
}

// room is what files are read into: one session may have made hundreds of thousands.
var room = sync.Pool{New: func() any { return new([128 << 10]byte) }}

// descriptor reads a file that stays somebody else's.
type descriptor int

func (d descriptor) Read(b []byte) (int, error) {
	for {
		switch n, err := unix.Read(int(d), b); {
		case err == unix.EINTR:
		case err == nil && n == 0 && len(b) > 0:
			return 0, io.EOF
		default:
			return max(n, 0), err
		}
	}
}

// hash returns the SHA-256 of what a file holds, and how many bytes that was.
func hash(r io.Reader) (string, int64, error) {
	d, err := digest(r)
	if err != nil {
		return "", d.Size, err
	}
	return d.Hash(), d.Size, nil
}

func digest(r io.Reader) (*change.Digest, error) {
	d, buf := change.NewDigest(), room.Get().(*[128 << 10]byte)
	defer room.Put(buf)
	_, err := io.CopyBuffer(d, struct{ io.Reader }{r}, buf[:])
	return d, err
}

// compareAll reads both sides of entries with all processors, and returns those that
// differ in their order.
func (s *sides) compareAll(entries []entry) ([]change.Change, error) {
	type result struct {
		change  change.Change
		differs bool
		err     error
	}
	all := make([]result, len(entries))
	var group sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), 1+len(entries)/16)
	for w := range workers {
		group.Go(func() {
			for i := w * len(entries) / workers; i < (w+1)*len(entries)/workers; i++ {
				r := &all[i]
				r.change, r.differs, r.err = s.compare(entries[i])
			}
		})
	}
	group.Wait()
	var out []change.Change
	for _, r := range all {
		if r.err != nil {
			return nil, r.err
		}
		if r.differs {
			out = append(out, r.change)
		}
	}
	return out, nil
}

// compare reads both sides of an entry.
func (s *sides) compare(e entry) (c change.Change, differs bool, err error) {
	c.Path = e.path
	if e.deep {
		n := &change.Node{Type: change.Special}
		if c.New = n; e.up == nil {
			c.Old, c.New = n, nil
		}
		return c, true, nil
	}
	if e.low != nil {
		c.Old, _, err = s.host.node(e.path, e.low, nil)
		switch {
		case errors.Is(err, unix.ENOENT):
			c.Old = nil
		case errors.Is(err, unix.EACCES), errors.Is(err, unix.EXDEV), errors.Is(err, unix.EPERM):
			// Not ours to read. It is listed without a hash, and never taken for equal.
		case err != nil:
			return c, false, fmt.Errorf("read %q on the host: %w", e.path, err)
		}
	}
	if e.up != nil {
		c.New, c.Plain, err = s.upper.node(e.path, e.up, s.refuseForeign)
		if errors.Is(err, unix.ENOENT) || s.reversed && errors.Is(err, unix.EACCES) {
			return c, false, nil // a running session took it back, or the host keeps it to itself
		}
		if err != nil {
			return c, false, fmt.Errorf("read %q in the layer: %w", e.path, err)
		}
	}
	return c, !equal(c.Old, c.New), nil
}

// equal compares two sides. A file that could not be read equals nothing.
func equal(a, b *change.Node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b && (a.Type != change.File || a.Hash != "")
}
