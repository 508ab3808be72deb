package undo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// comparison is a tree before the session and now, where the session touched it.
type comparison struct {
	*Log
	tree     int
	before   map[string]*change.Node
	after    map[string]*present // nil: nothing is there
	order    []string            // of what was put there
	from     map[string]string   // new paths of what was moved in the tree
	reading  *reading
	compared int
}

// present is what is under a path now.
type present struct {
	change.Node
	blind bool // nothing is known of it
	plain bool // it holds only ASCII
}

func (p *present) node() *change.Node {
	if p == nil {
		return nil
	}
	return &p.Node
}

func (l *Log) newComparison(tree int) *comparison {
	return &comparison{Log: l, tree: tree, reading: l.newReading(tree),
		before: map[string]*change.Node{}, after: map[string]*present{}, from: map[string]string{}}
}

// Changes returns the difference between a tree as it was before the session and
// as it is on the host now, for everything that the session touched. A rename is
// one change where the new name is new and the old one is gone. What cannot be
// looked at is a change too, of which the new side has no content, and unless it is
// only closed to us, Lost says why.
func (l *Log) Changes(tree int) ([]change.Change, error) {
	if err := l.checkTree(tree); err != nil {
		return nil, err
	}
	l.unseen = map[place]string{}
	c := l.newComparison(tree)
	for _, r := range l.parts(nil) {
		l.walk(r, func(f found) bool { c.compare(r, f); return true })
	}
	c.readAll()
	for _, t := range l.all {
		if t.home.tree == tree && t.node != nil && l.first[t.home] == t && c.before[t.home.rel] == nil {
			c.now(t.home.rel)
			c.before[t.home.rel] = l.old(t, c.known(t.home.rel))
		}
	}
	all := slices.DeleteFunc(c.changes(), c.looked())
	if l.restored {
		all = slices.DeleteFunc(all, c.objects())
	}
	return all, nil
}

// Was tells what stood in a place where nothing is any more: the session deleted it. nil
// means that something is there, that nothing was, or that it is not known.
func (l *Log) Was(tree int, rel string) *change.Node {
	t := l.first[place{tree, rel}]
	if l.checkTree(tree) != nil || t == nil || t.node == nil {
		return nil
	}
	if _, err := l.look(t.home); !missing(err) {
		return nil
	}
	if l.unseen == nil {
		l.unseen = map[place]string{}
	}
	return l.old(t, nil)
}

// looked holds for an index of git that lists what it listed before: git writes one anew
// whenever somebody looks.
func (c *comparison) looked() func(change.Change) bool {
	d := newDisk(c.root)
	return func(ch change.Change) bool {
		if _, name := split(ch.Path); name != "index" || ch.From != "" || ch.Old == nil || ch.New == nil || ch.Old.Mode != ch.New.Mode {
			return false
		}
		at := place{c.tree, ch.Path}
		if d.place(at).kind != gitIndex || c.first[at] == nil || c.first[at].blob == 0 {
			return false
		}
		f, err := c.openBlob(c.first[at].blob)
		if err != nil {
			return false
		}
		old, err := readAll(f, maxGitText)
		if err != nil {
			return false
		}
		x, err := readIndex(old)
		return err == nil && x.meaning == d.means(gitPlace{kind: gitIndex}, at)
	}
}

// objects holds for what stays when a session is undone: objects of git that it made, and
// the directories that they are in.
func (c *comparison) objects() func(change.Change) bool {
	d := newDisk(c.root)
	return func(ch change.Change) bool {
		if ch.Old != nil || ch.New == nil {
			return false
		}
		at := place{c.tree, ch.Path}
		if ch.New.Type == change.Directory {
			name := "/pack-" // a file of such a name in there would be one
			if _, dir := split(ch.Path); len(dir) == 2 {
				name = "/" + strings.Repeat("0", 38)
			}
			at.rel += name
		}
		kind := d.place(at).kind
		return kind == gitObject || kind == gitCache
	}
}

// known is what is under a path now, if that is known.
func (c *comparison) known(rel string) *change.Node {
	if p := c.after[rel]; p != nil && !p.blind {
		return &p.Node
	}
	return nil
}

func (c *comparison) put(rel string, p *present) {
	before := len(c.after)
	if c.after[rel] = p; len(c.after) > before {
		c.order = append(c.order, rel)
	}
}

// compare notes one entry that is the session's or was moved by it.
func (c *comparison) compare(r part, f found) {
	ours, here := !r.mine && f.home.tree == c.tree, f.at.tree == c.tree
	if !here && !ours {
		return
	}
	if here && f.err != nil {
		if _, again := c.after[f.at.rel]; again {
			c.miss(f.at, f.err) // of a directory: what is in it
			return
		}
	}
	if c.compared++; c.Looked != nil && c.compared%256 == 0 {
		c.Looked(c.compared)
	}
	if !ours && f.err == nil && f.kind == change.File { // the session made it: hundreds of thousands of such
		c.readLater(f)
		return
	}
	now := c.nodeOf(f)
	if here {
		c.put(f.at.rel, &present{Node: *now, blind: f.err != nil})
	}
	if !ours {
		return
	}
	if here {
		c.from[f.at.rel] = f.home.rel
	}
	c.before[f.home.rel] = now
	if t := c.first[f.home]; t != nil && t.node != nil {
		if f.err != nil {
			now = nil
		}
		c.before[f.home.rel] = c.old(t, now)
	}
}

// now returns what is under a path of the tree, and notes it.
func (c *comparison) now(rel string) *change.Node {
	if p, ok := c.after[rel]; ok {
		return p.node()
	}
	at := place{c.tree, rel}
	f := found{at: at, home: at}
	if f.dir, f.name, f.err = c.parent(at); f.err == nil {
		defer unix.Close(f.dir)
		if f.entry, f.err = look(f.dir, f.name); f.err == nil && f.kind == change.Symlink {
			f.link, f.err = readLink(f.dir, f.name)
		}
	}
	var p *present
	if !missing(f.err) {
		p = &present{Node: *c.nodeOf(f), blind: f.err != nil}
	}
	c.put(rel, p)
	return p.node()
}

// miss notes why something could not be looked at. What is only closed to us is not
// lost: a restore opens it.
func (l *Log) miss(at place, err error) {
	if !errors.Is(err, unix.EACCES) {
		l.unseen[at] = "it cannot be looked at: " + err.Error()
	}
}

// changes pairs both sides.
func (c *comparison) changes() []change.Change {
	all := make([]change.Change, 0, len(c.after))
	gone := map[string]bool{}
	for to, from := range c.from {
		if c.now(from) == nil && c.before[to] == nil {
			all = append(all, change.Change{Path: to, From: from, Old: c.before[from], New: c.after[to].node()})
			gone[from], gone[to] = true, true
		}
	}
	for path, old := range c.before {
		if n := c.now(path); !gone[path] && (n == nil || *n != *old) {
			all = append(all, change.Change{Path: path, Old: old, New: n, Plain: n != nil && c.after[path].plain})
		}
	}
	for _, path := range c.order { // nearly sorted
		if p := c.after[path]; p != nil && c.before[path] == nil && !gone[path] {
			all = append(all, change.Change{Path: path, New: &p.Node, Plain: p.plain})
		}
	}
	for i := range all {
		if all[i].Path == "" {
			all[i].Path = "."
		}
	}
	slices.SortFunc(all, change.Compare)
	return all
}

// nodeOf describes an entry of the disk as far as that can be done. What cannot be
// looked at counts as being of the kind that it was, without any permission.
func (c *comparison) nodeOf(f found) *change.Node {
	if f.err != nil {
		c.miss(f.at, f.err)
		n := &change.Node{Type: change.File}
		if t := c.first[f.home]; t != nil && t.node != nil {
			n.Type = t.node.kind
		}
		return n
	}
	n := &change.Node{Type: f.kind, Mode: f.mode, Link: f.link}
	if f.kind == change.Symlink {
		n.Mode = 0o777
	}
	if f.kind != change.File {
		return n
	}
	c.hold(n, f.at, c.reading.sumIn(f.dir, f.name, f.size), f.size)
	return n
}

// hold notes what a file holds.
func (c *comparison) hold(n *change.Node, at place, s summed, size int64) {
	if n.Size, n.Hash = s.size, s.hash; s.err != nil {
		n.Size = size
		if !missing(s.err) {
			c.miss(at, s.err)
		}
	}
}

// old describes what an original was. What was not written to has the content of now.
func (l *Log) old(t *original, now *change.Node) *change.Node {
	n := &change.Node{Type: t.node.kind, Mode: t.node.mode, Link: t.node.link}
	if t.node.kind == change.Symlink {
		n.Mode = 0o777
	}
	if t.node.kind != change.File {
		return n
	}
	n.Size = t.node.size
	if t.blob == 0 {
		if t.lost == "" && now != nil && now.Type == change.File {
			n.Size, n.Hash = now.Size, now.Hash
		}
		return n
	}
	f, err := l.openBlob(t.blob)
	if err == nil {
		was := sum(f)
		n.Hash, err = was.hash, was.err
	}
	if err != nil {
		l.unseen[t.home] = "what is kept of it cannot be read: " + err.Error()
	}
	return n
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
	if err := checkPlain(rel, maxDeep); err != nil {
		return nil, fmt.Errorf("undo: %w", err)
	}
	home := place{tree, rel}
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
func (l *Log) openAsIs(home place) (*os.File, error) {
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
func (l *Log) find(home place) (place, bool) {
	at := l.physical(home)
	_, cover, rest := l.names.find(at)
	if cover.state != orig {
		return at, false
	}
	was := l.all[cover.obj.id].home
	return at, was.tree == home.tree && join(was.rel, rest) == home.rel
}

// physical says where a path of the tree before the session is, or would be, now.
func (l *Log) physical(home place) place {
	if t := l.first[home]; t != nil {
		if at, ok := l.at[t.id]; ok {
			return at
		}
	}
	if home.rel == "" {
		return home
	}
	dir, name := split(home.rel)
	at := l.physical(place{home.tree, dir})
	return place{at.tree, join(at.rel, name)}
}

// Lost lists the paths of which the store has no content, and those that the last
// Changes could not look at, quoted, with why.
func (l *Log) Lost(tree int) []string {
	var all []string
	for _, t := range l.all {
		if t.home.tree == tree && t.lost != "" {
			all = append(all, strconv.Quote(t.home.rel)+": "+t.lost)
		}
	}
	for at, why := range l.unseen {
		if at.tree == tree {
			all = append(all, strconv.Quote(at.rel)+": "+why)
		}
	}
	slices.Sort(all)
	return all
}
