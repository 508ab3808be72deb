package undo

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/change"
)

// sides is a tree before the session and now, where the session touched it.
type sides struct {
	tree          int
	before, after map[string]*change.Node
	from          map[string]string // new paths of what was moved in the tree
}

// Changes returns the difference between a tree as it was before the session and
// as it is on the host now, for everything that the session touched. A rename is
// one change where the new name is new and the old one is gone.
func (l *Log) Changes(tree int) ([]change.Change, error) {
	if err := l.checkTree(tree); err != nil {
		return nil, err
	}
	s := sides{tree, map[string]*change.Node{}, map[string]*change.Node{}, map[string]string{}}
	for _, r := range l.regions(nil) {
		if err := l.walk(r, func(f found) error { return l.compare(s, r, f) }); err != nil {
			return nil, fmt.Errorf("look at what changed: %w", err)
		}
	}
	for _, t := range l.all {
		if t.home.tree != tree || t.node == nil || l.first[t.home] != t || s.before[t.home.rel] != nil {
			continue
		}
		now, err := l.now(s, t.home.rel)
		if err != nil {
			return nil, err
		}
		if s.before[t.home.rel], err = l.old(t, now); err != nil {
			return nil, err
		}
	}
	return s.changes(l.now)
}

// compare notes one entry that is the session's or was moved by it.
func (l *Log) compare(s sides, r region, f found) error {
	if f.at.tree != s.tree && (r.mine || f.home.tree != s.tree) {
		return nil
	}
	now, err := nodeOf(f)
	if err != nil {
		return err
	}
	if f.at.tree == s.tree {
		s.after[f.at.rel] = now
	}
	if r.mine || f.home.tree != s.tree {
		return nil
	}
	if f.at.tree == s.tree {
		s.from[f.at.rel] = f.home.rel
	}
	s.before[f.home.rel] = now
	if t := l.first[f.home]; t != nil && t.node != nil {
		s.before[f.home.rel], err = l.old(t, now)
	}
	return err
}

// now returns what is under a path of the tree, and notes it. What is in a
// directory that we may not enter is as good as gone.
func (l *Log) now(s sides, rel string) (*change.Node, error) {
	if n, ok := s.after[rel]; ok {
		return n, nil
	}
	at := spot{s.tree, rel}
	dir, name, err := l.parent(at)
	var n *change.Node
	if err == nil {
		defer unix.Close(dir)
		f := found{at: at, dir: dir, name: name}
		if f.entry, err = look(dir, name); err == nil && f.kind == change.Symlink {
			f.link, err = readLink(dir, name)
		}
		if err == nil {
			n, err = nodeOf(f)
		}
	}
	if err != nil && !missing(err) && err != unix.EACCES {
		return nil, fmt.Errorf("look at %q: %w", rel, err)
	}
	s.after[rel] = n
	return n, nil
}

// changes pairs both sides.
func (s sides) changes(now func(sides, string) (*change.Node, error)) ([]change.Change, error) {
	var all []change.Change
	gone := map[string]bool{}
	for to, from := range s.from {
		there, err := now(s, from)
		if err != nil {
			return nil, err
		}
		if there == nil && s.before[to] == nil {
			all = append(all, change.Change{Path: to, From: from, Old: s.before[from], New: s.after[to]})
			gone[from], gone[to] = true, true
		}
	}
	for path, old := range s.before {
		n, err := now(s, path)
		if err != nil {
			return nil, err
		}
		if !gone[path] && (n == nil || *n != *old) {
			all = append(all, change.Change{Path: path, Old: old, New: n})
		}
	}
	for path, n := range s.after {
		if n != nil && s.before[path] == nil && !gone[path] {
			all = append(all, change.Change{Path: path, New: n})
		}
	}
	for i := range all {
		if all[i].Path == "" {
			all[i].Path = "."
		}
	}
	slices.SortFunc(all, change.Compare)
	return all, nil
}

// nodeOf describes an entry of the disk. The content of a file that must not be
// read stays unknown.
func nodeOf(f found) (*change.Node, error) {
	n := &change.Node{Type: f.kind, Mode: f.mode, Link: f.link}
	if f.kind == change.Symlink {
		n.Mode = 0o777
	}
	if f.kind != change.File {
		return n, nil
	}
	n.Size = f.size
	fd, err := openFileAt(f.dir, f.name)
	if err == unix.EACCES || missing(err) {
		return n, nil
	}
	if err != nil {
		return nil, err
	}
	n.Size, n.Hash, err = sum(os.NewFile(uintptr(fd), f.name))
	return n, err
}

// maxSummed bounds what is read of a file to tell whether it changed: an agent makes
// one of terabytes with a single call. What is larger has no hash.
const maxSummed = 1 << 30

// sum hashes a file and closes it.
func sum(f *os.File) (int64, string, error) {
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.Size() > maxSummed {
		return st.Size(), "", nil
	}
	h := sha256.New()
	n, err := io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// old describes what a thing was. What was not written to has the content of now.
func (l *Log) old(t *thing, now *change.Node) (*change.Node, error) {
	n := &change.Node{Type: t.node.kind, Mode: t.node.mode, Link: t.node.link}
	if t.node.kind == change.Symlink {
		n.Mode = 0o777
	}
	if t.node.kind != change.File {
		return n, nil
	}
	n.Size = t.node.size
	if t.blob == 0 {
		if t.lost == "" && now != nil && now.Type == change.File {
			n.Size, n.Hash = now.Size, now.Hash
		}
		return n, nil
	}
	f, err := l.openBlob(t.blob)
	if err != nil {
		return nil, err
	}
	_, n.Hash, err = sum(f)
	return n, err
}

func (l *Log) openBlob(id uint32) (*os.File, error) {
	path := filepath.Join(l.dir, keptName)
	dir, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", path, err)
	}
	defer unix.Close(dir)
	fd, err := openLockedAt(dir, blobName(id))
	if err != nil {
		return nil, fmt.Errorf("open %q: %w", filepath.Join(path, blobName(id)), err)
	}
	return os.NewFile(uintptr(fd), blobName(id)), nil
}

// OpenOld opens a file as it was before the session.
func (l *Log) OpenOld(tree int, rel string) (*os.File, error) {
	if err := l.checkTree(tree); err != nil {
		return nil, err
	}
	if err := checkPath(rel); err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	home := spot{tree, rel}
	t := l.first[home]
	if t != nil && t.lost != "" {
		return nil, fmt.Errorf("%q is not kept: %s", rel, t.lost)
	}
	if t != nil && t.blob != 0 {
		return l.openBlob(t.blob)
	}
	f, err := l.openAsIs(home)
	if missing(err) {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("open %q as it was: %w", rel, err)
	}
	return f, nil
}

// openAsIs opens a file that the session did not write to, wherever it is now.
func (l *Log) openAsIs(home spot) (*os.File, error) {
	at, ok := l.find(home)
	if !ok {
		return nil, fs.ErrNotExist
	}
	dir, name, err := l.parent(at)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := openFileAt(dir, name)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// find says where an entry that was there before the session should be now.
func (l *Log) find(home spot) (spot, bool) {
	at := l.physical(home)
	_, cover, rest := l.names.find(at)
	if cover.state != orig {
		return at, false
	}
	was := l.all[cover.obj.id].home
	return at, was.tree == home.tree && join(was.rel, rest) == home.rel
}

// physical says where a path of the tree before the session is, or would be, now.
func (l *Log) physical(home spot) spot {
	if t := l.first[home]; t != nil {
		if at, ok := l.at[t.id]; ok {
			return at
		}
	}
	if home.rel == "" {
		return home
	}
	dir, name := split(home.rel)
	at := l.physical(spot{home.tree, dir})
	return spot{at.tree, join(at.rel, name)}
}

// Lost lists the paths of which the store has no content, quoted, with why.
func (l *Log) Lost(tree int) []string {
	var all []string
	for _, t := range l.all {
		if t.home.tree == tree && t.lost != "" {
			all = append(all, strconv.Quote(t.home.rel)+": "+t.lost)
		}
	}
	slices.Sort(all)
	return all
}
