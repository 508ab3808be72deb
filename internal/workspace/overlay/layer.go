// Package overlay is what a session keeps from the host: a private layer over a tree
// of the host, what differs in it, and how that is brought to the host or
// forgotten. The layer is the upper directory of an overlayfs that was mounted with
// userxattr, or a full copy of the tree where overlayfs was not to be had.
//
// The agent wrote the layer and may have written the tree: every name, link, mode
// and byte in both is hostile. Nothing is looked up by path but beneath a
// descriptor of the tree, no symbolic link is followed, no mount is crossed, and
// special files never reach the host. A file changes on the host by one rename.
//
// What is left at risk: the host is compared by time and content just before a
// rename. A program of the host that writes in between, within microseconds, loses
// what it wrote. A change on the host that the clock of its filesystem stamps with
// the very tick of Since counts as older. The mode of a directory has no history:
// the session's wins. The directory at the root of a tree keeps its own mode.
//
// As an ordinary user, a file or directory in the layer that its owner may not read
// gets the owner's permission to read back: what cannot be read cannot be shown.
package overlay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// Layer is what a session keeps from the host, over the tree at Root.
type Layer struct {
	Root  string    // the tree on the host: absolute, without symbolic links
	Upper string    // the upper directory of the overlay, or a full copy of the tree
	Copy  bool      // Upper is a full copy, complete before Since
	Since time.Time // when the session began: what the host changed later is not overwritten

	// Base returns what both sides started from, where that is known. May be nil.
	Base func(rel string) ([]byte, bool)

	// Step is called for each change that is brought over. May be nil.
	Step func()
}

// Outcome is what became of one change.
type Outcome string

// The outcomes. After all but Conflict the change is gone from the layer.
const (
	Applied  Outcome = "applied"
	Merged   Outcome = "merged"   // with what the host changed meanwhile
	Conflict Outcome = "conflict" // the host was left as it is, Why says the reason
	Same     Outcome = "same"     // the host has it already, or keeps its own for the reason in Why
)

// Result is what became of the change at Path.
type Result struct {
	Path    string
	Outcome Outcome
	Why     string
}

// errStop ends a walk early.
var errStop = errors.New("stop")

// Changes returns every difference of the layer to the host, sorted by path. It
// only reads, and may run while the session still does. A rename has one change:
// its former path is in From, and OpenOld takes that.
func (l *Layer) Changes() ([]change.Change, error) {
	s, err := l.open()
	if err != nil {
		return nil, err
	}
	defer s.close()
	c := newComparing(s)
	err = s.walk(func(e entry) error { c.add(e); return nil })
	found, failed := c.end()
	if err == nil {
		err = failed
	}
	if err != nil {
		return nil, fmt.Errorf("compare the layer of %q: %w", l.Root, err)
	}
	slices.SortFunc(found, change.Compare)
	return foldRenames(found), nil
}

// Empty reports whether no change waits. It stops at the first one.
func (l *Layer) Empty() (bool, error) {
	s, err := l.open()
	if err != nil {
		return false, err
	}
	defer s.close()
	err = s.walk(func(e entry) error {
		waits, err := s.waits(e)
		if err == nil && waits {
			return errStop
		}
		return err
	})
	switch {
	case errors.Is(err, errStop):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("compare the layer of %q: %w", l.Root, err)
	}
	return true, nil
}

// waits reports whether an entry is a change, and reads files only where their
// sizes leave a doubt.
func (s *sides) waits(e entry) (bool, error) {
	switch {
	case e.up == nil:
		return e.low != nil, nil
	case e.low == nil, e.deep, typeOf(e.up) != typeOf(e.low), e.up.Mode != e.low.Mode:
		return true, nil
	case typeOf(e.up) == change.File && e.up.Size != e.low.Size:
		return true, nil
	}
	_, differs, err := s.compare(e)
	return differs, err
}

// Open opens the new side of a regular file.
func (l *Layer) Open(rel string) (*os.File, error) { return openFile(l.Upper, rel) }

// OpenOld opens the side of the host.
func (l *Layer) OpenOld(rel string) (*os.File, error) { return openFile(l.Root, rel) }

// Read reads at most one byte more than most of the new side of a regular file. It is
// Open for those who read hundreds of thousands. What is empty is not nil.
func (l *Layer) Read(rel string, most int64) ([]byte, error) { return readFile(l.Upper, rel, most) }

// ReadOld reads the side of the host.
func (l *Layer) ReadOld(rel string, most int64) ([]byte, error) { return readFile(l.Root, rel, most) }

func readFile(root, rel string, most int64) ([]byte, error) {
	fd, err := openIn(root, rel)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := room.Get().(*[128 << 10]byte)
	defer room.Put(buf)
	b := bytes.NewBuffer([]byte{})
	_, err = io.CopyBuffer(struct{ io.Writer }{b}, io.LimitReader(descriptor(fd), most+1), buf[:])
	return b.Bytes(), err
}

func openFile(root, rel string) (*os.File, error) {
	fd, err := openIn(root, rel)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), rel), nil
}

// openIn opens a regular file of a tree.
func openIn(root, rel string) (int, error) {
	if !valid(rel) {
		return -1, fmt.Errorf("open %q: %w", rel, fs.ErrInvalid)
	}
	t, err := openTree(root)
	if err != nil {
		return -1, err
	}
	defer t.close()
	fd, err := t.openFile(rel)
	if err != nil {
		return -1, fmt.Errorf("open %q in %q: %w", rel, root, err)
	}
	return fd, nil
}

// foldRenames joins a file that went and an equal one that came into one change.
// Of several that went, one with the same name is preferred. The order stays.
func foldRenames(all []change.Change) []change.Change {
	gone := map[string][]int{}
	for i, c := range all {
		if c.New == nil && c.Old.Type == change.File && c.Old.Size > 0 && c.Old.Hash != "" {
			gone[c.Old.Hash] = append(gone[c.Old.Hash], i)
		}
	}
	folded := map[int]bool{}
	for i := range all {
		c := &all[i]
		if c.Old != nil || c.New.Type != change.File || len(gone[c.New.Hash]) == 0 {
			continue
		}
		from := gone[c.New.Hash]
		at := max(0, slices.IndexFunc(from, func(j int) bool { return base(all[j].Path) == base(c.Path) }))
		old := all[from[at]]
		folded[from[at]] = true
		gone[c.New.Hash] = slices.Delete(from, at, at+1)
		c.From, c.Old = old.Path, old.Old
	}
	if len(folded) == 0 {
		return all
	}
	var out []change.Change
	for i, c := range all {
		if !folded[i] {
			out = append(out, c)
		}
	}
	return out
}

// sides are both trees, open.
type sides struct {
	l     *Layer
	upper *tree
	host  *tree

	reversed bool // upper is the host's tree: it is only read
}

func (l *Layer) open() (*sides, error) {
	host, err := openTree(l.Root)
	if err != nil {
		return nil, err
	}
	upper, err := openTree(l.Upper)
	if err != nil {
		host.close()
		return nil, err
	}
	return &sides{l: l, upper: upper, host: host}, nil
}

func (s *sides) close() {
	s.upper.close()
	s.host.close()
}

// touched reports whether the host changed something after the session began.
func (l *Layer) touched(st *unix.Stat_t) bool {
	return after(st.Ctim, l.Since) || after(st.Mtim, l.Since)
}

func after(ts unix.Timespec, t time.Time) bool {
	return cmp.Or(cmp.Compare(ts.Sec, t.Unix()), cmp.Compare(ts.Nsec, int64(t.Nanosecond()))) > 0
}
