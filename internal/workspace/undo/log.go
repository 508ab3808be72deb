package undo

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
)

// Log is what a store wrote down. It is used by one at a time.
type Log struct {
	Step   func() // is called for each path that a restore is done with; may be nil
	Record *Store // is told of all that a restore is about to change, with the same trees; may be nil

	hostTrees
	dir      string
	names    *names
	all      []*original         // by number
	first    map[place]*original // by where it was before the session
	at       map[uint32]place    // where it is now, if anywhere
	left     map[place]left      // what the session left there
	shaken   map[place]bool      // places from or to which a restore moved something
	emptied  map[place]bool      // places from which originals came back that were made anew
	end      moment
	ended    bool
	restored bool   // at least once, or a part of it
	born     uint64 // when the store was made; 0: the file system does not say

	// Looked is called with how many entries were compared, now and then; may be nil.
	Looked func(n int)

	begun map[ident]bool // inodes that a restore changed
	step  *record        // what a restore began and did not finish
	close *record        // what is to be noted of that
	aside map[place]bool // what a restore moved out of the way

	unseen  map[place]string // what the last comparison could not look at, with why
	unmoved []uint32         // originals that never moved, though the log says so

	fail func(what string) // tests: called before every write to a tree
}

// hostTrees are the trees of a session, opened when they are needed.
type hostTrees struct {
	trees []string
	roots []int // descriptors; -1: not open
}

// original is what is known of an entry that was there before the session.
type original struct {
	id    uint32
	home  place
	node  *image // what it was; nil: it only moved
	inode ident  // of what moved
	blob  uint32
	lost  string
}

// Open reads the log of a session, which may still go on. One that was killed before it
// wrote anything into it has none.
func Open(dir string) (*Log, error) {
	l := &Log{dir: dir, first: map[place]*original{}, at: map[uint32]place{},
		begun: map[ident]bool{}, aside: map[place]bool{}, left: map[place]left{}, shaken: map[place]bool{}, emptied: map[place]bool{}}
	if _, err := l.read(logName, 0, l.replay); err != nil {
		return nil, err
	}
	if l.names == nil {
		path, err := filepath.Join(dir, logName), errors.New("it has no beginning")
		if st, serr := os.Lstat(path); serr == nil && st.Size() == 0 {
			err = os.ErrNotExist
		}
		return nil, fmt.Errorf("read undo log %q: %w", path, err)
	}
	for i, root := range l.names.roots {
		l.index(place{i, ""}, root)
	}
	_, err := l.read(restoreName, len(l.trees), l.replayRestore)
	l.restored = err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if err := l.resume(); err != nil {
		return nil, fmt.Errorf("read undo log: %w", err)
	}
	l.verify()
	return l, nil
}

func (l *Log) read(name string, trees int, each func(record) error) (int64, error) {
	path := filepath.Join(l.dir, name)
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, fmt.Errorf("read undo log: %w", err)
	}
	defer f.Close()
	if e, err := look(int(f.Fd()), ""); err == nil && name == logName {
		l.born = e.born
	}
	whole, err := readRecords(f, trees, each)
	if err != nil {
		return 0, fmt.Errorf("read undo log %q: %w", path, err)
	}
	return whole, nil
}

var errUnknown = errors.New("it does not follow from what is before it")

// replay does with the names what the store did.
func (l *Log) replay(r record) error {
	if l.ended {
		return errUnknown
	}
	switch r.op {
	case opHead:
		l.start(r.trees)
	case opCreated:
		l.names.created(r.from)
	case opTouch:
		if n := l.names.next; l.names.own(r.from).obj == nil || l.names.next != n+1 {
			return errUnknown
		}
	case opImage:
		return l.image(r)
	case opRenamed:
		if r.from.tree == r.to.tree && (inside(r.from.rel, r.to.rel) || inside(r.to.rel, r.from.rel)) {
			return errUnknown
		}
		l.names.renamed(r.from, r.to)
		l.moves(r.to, r.ident)
	case opNotRenamed:
		i := l.names.recall(r.from, r.to)
		if i < 0 {
			return errUnknown
		}
		l.names.notRenamed(i)
	case opLinked:
		if l.names.ours(r.from) || r.from == r.to {
			return errUnknown
		}
		l.names.linked(r.from, r.to)
	case opLeft:
		l.left[r.from] = left{r.ident, r.text}
	case opEnd:
		l.end, l.ended = r.end, true
	default:
		return errUnknown
	}
	if l.names.count > 2*maxNames {
		return ErrFull
	}
	return nil
}

// moves notes which inode an original has that is now in a place.
func (l *Log) moves(s place, i ident) {
	if n, _, _ := l.names.find(s); n != nil && n.state == orig {
		l.all[n.obj.id].inode = i
	}
}

// verify finds renames that were noted and not made, because the session was
// killed in between: the entry has its old name.
func (l *Log) verify() {
	for _, t := range l.all {
		at, ok := l.at[t.id]
		if !ok || at == t.home || t.inode == (ident{}) {
			continue
		}
		if e, err := l.look(at); err == nil && e.ident == t.inode {
			continue
		}
		if e, err := l.look(l.vacancy(t)); err == nil && e.ident == t.inode {
			l.back(t)
			l.unmoved = append(l.unmoved, t.id)
		}
	}
}

// vacancy says where the place of an original is now.
func (l *Log) vacancy(t *original) place {
	dir, name := split(t.home.rel)
	up := l.physical(place{t.home.tree, dir})
	return place{up.tree, join(up.rel, name)}
}

func (l *Log) start(trees []string) {
	l.trees, l.names = trees, newNames(len(trees))
	for i := range trees {
		l.roots = append(l.roots, -1)
		l.add(&original{id: uint32(i), home: place{i, ""}})
	}
	l.names.born = func(o, above *object, rest string) {
		home := l.all[above.id].home
		l.add(&original{id: o.id, home: place{home.tree, join(home.rel, rest)}})
	}
}

func (l *Log) add(t *original) {
	l.all = append(l.all, t)
	if l.first[t.home] == nil {
		l.first[t.home] = t
	}
}

func (l *Log) image(r record) error {
	if uint64(r.id) >= uint64(len(l.all)) || r.image.blob != 0 && uint64(r.image.blob) >= uint64(len(l.all)) {
		return errUnknown
	}
	t := l.all[r.id]
	if t.node == nil {
		t.node = &r.image
	}
	if t.blob == 0 && t.lost == "" {
		t.blob, t.lost = r.image.blob, r.image.lost
	}
	return nil
}

// index notes where everything below a node is now.
func (l *Log) index(s place, n *node) {
	if n.state == orig {
		l.at[n.obj.id] = s
	}
	for name, kid := range n.kids {
		l.index(place{s.tree, join(s.rel, name)}, kid)
	}
}

// replayRestore does with the names what earlier restores did.
func (l *Log) replayRestore(r record) error {
	switch r.op {
	case opHead:
		return nil
	case opTemp, opMove:
		if l.step != nil {
			return errUnknown
		}
		l.step = &r
	case opBegin:
		l.begun[r.ident] = true
	case opBack:
		if l.step != nil || uint64(r.id) >= uint64(len(l.all)) || l.all[r.id].home.rel == "" {
			return errUnknown
		}
		l.returned(l.all[r.id])
	case opDone, opSkip:
		if l.step == nil {
			return errUnknown
		}
		if r.op == opDone && l.step.op == opMove {
			return l.moved(*l.step)
		}
		l.step = nil
	default:
		return errUnknown
	}
	return nil
}

// moved notes a move that a restore made.
func (l *Log) moved(r record) error {
	l.step = nil
	if r.from.tree == r.to.tree && (inside(r.from.rel, r.to.rel) || inside(r.to.rel, r.from.rel)) {
		return errUnknown
	}
	l.begun[r.ident] = true
	delete(l.aside, r.from)
	if _, name := split(r.to.rel); strings.HasPrefix(name, tempPrefix) {
		l.aside[r.to] = true
	}
	l.shaken[r.from], l.shaken[r.to] = true, true
	n := l.names.take(r.from)
	l.drop(r.to)
	l.names.put(r.to, n)
	l.index(r.to, n)
	return nil
}

// drop forgets what was thought to be under a name.
func (l *Log) drop(s place) {
	exact, _, _ := l.names.find(s)
	if exact == nil {
		return
	}
	var forget func(*node)
	forget = func(n *node) {
		if n.state == orig {
			delete(l.at, n.obj.id)
		}
		for _, kid := range n.kids {
			forget(kid)
		}
	}
	forget(exact)
}

// resume finds out whether the last move of a restore that was killed was made. Where
// that cannot be seen it counts as not made: verify sees what is in its place.
func (l *Log) resume() error {
	if l.step == nil || l.step.op != opMove {
		return nil
	}
	r := *l.step
	l.begun[r.ident] = true
	if e, err := l.look(r.to); err == nil && e.ident == r.ident {
		l.close = &record{op: opDone}
		return l.moved(r)
	}
	l.step, l.close = nil, &record{op: opSkip}
	return nil
}

// Trees returns the trees of the session.
func (h *hostTrees) Trees() []string { return h.trees }

// End returns when the session ended, and the zero time if its store was never
// closed.
func (l *Log) End() time.Time {
	if !l.ended {
		return time.Time{}
	}
	return time.Unix(l.end.sec, int64(l.end.nsec))
}

// EndedAt says when a session ended that could not say so itself.
func (l *Log) EndedAt(t time.Time) {
	l.end, l.ended = moment{t.Unix(), uint32(t.Nanosecond())}, true
}

// Close gives the trees free. The log can still be used.
func (h *hostTrees) Close() error {
	for i, fd := range h.roots {
		if fd >= 0 {
			unix.Close(fd)
		}
		h.roots[i] = -1
	}
	return nil
}

func (h *hostTrees) root(tree int) (int, error) {
	if h.roots[tree] < 0 {
		fd, err := sys.OpenSource(h.trees[tree])
		if err != nil {
			return -1, err
		}
		h.roots[tree] = fd
	}
	return h.roots[tree], nil
}

// parent opens the directory in which a place is.
func (h *hostTrees) parent(s place) (fd int, name string, err error) {
	root, err := h.root(s.tree)
	if err != nil {
		return -1, "", err
	}
	dir, name := split(s.rel)
	if name == "" {
		name = "."
	}
	fd, err = openAt(root, dir, unix.O_PATH|unix.O_DIRECTORY)
	return fd, name, err
}

func (h *hostTrees) look(s place) (entry, error) {
	dir, name, err := h.parent(s)
	if err != nil {
		return entry{}, err
	}
	defer unix.Close(dir)
	e, err := look(dir, name)
	if err == nil && e.kind == change.Symlink {
		e.link, err = readLink(dir, name)
	}
	return e, err
}

func (h *hostTrees) checkTree(tree int) error {
	if tree < 0 || tree >= len(h.trees) {
		return fmt.Errorf("undo: there is no tree %d", tree)
	}
	return nil
}
