package overlay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
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
		d, err := change.Read(fd, st.Size)
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
	return sys.ReadLink(fd, "")
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

// hashFile returns the SHA-256 of what a file holds, from where it stands.
func hashFile(f *os.File) (string, error) {
	d, err := change.Read(int(f.Fd()), -1)
	if err != nil {
		return "", err
	}
	return d.Hash(), nil
}

func hashOf(b []byte) string {
	d := change.NewDigest()
	d.Write(b)
	return d.Hash()
}

// comparing reads both sides of entries with all processors, while the walk goes on.
type comparing struct {
	sides   *sides
	entries []entry
	parts   []*compared
	group   sync.WaitGroup
	free    chan struct{} // one for each processor that may begin
}

// compared are the entries of a part that differ.
type compared struct {
	changes []change.Change
	err     error
}

// partSize is how many entries are compared in one go.
const partSize = 512

func newComparing(s *sides) *comparing {
	return &comparing{sides: s, free: make(chan struct{}, runtime.GOMAXPROCS(0))}
}

func (c *comparing) add(e entry) {
	if c.entries = append(c.entries, e); len(c.entries) >= partSize {
		c.begin()
	}
}

// begin compares what was added, beside the caller.
func (c *comparing) begin() {
	part, entries := &compared{}, c.entries
	c.parts, c.entries = append(c.parts, part), nil
	c.free <- struct{}{}
	c.group.Go(func() {
		defer func() { <-c.free }()
		for _, e := range entries {
			one, differs, err := c.sides.compare(e)
			if err != nil {
				part.err = err
				return
			}
			if differs {
				part.changes = append(part.changes, one)
			}
		}
	})
}

// end waits for all of it, and returns what differs in the order of the walk.
func (c *comparing) end() (all []change.Change, err error) {
	c.begin()
	c.group.Wait()
	for _, p := range c.parts {
		if p.err != nil {
			return nil, p.err
		}
		all = append(all, p.changes...)
	}
	return all, nil
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
