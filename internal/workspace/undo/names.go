package undo

import (
	"cmp"
	"strings"
)

// state says what stands under a name now.
type state uint8

const (
	inherit state = iota // what the directory above says
	ours                 // the session's: made by it, or nothing, and so all below
	orig                 // an entry that was there before the session, maybe elsewhere
	alias                // a hard link that the session made to such an entry
)

// object is an entry that was there before the session.
type object struct {
	id    uint32
	blob  uint32 // the file in the store that holds its content; 0: none
	saved saved
}

// saved says what of an object is kept.
type saved uint8

const (
	savedNode saved = 1 << iota // type, mode, times
	savedData                   // the content, or that it cannot be kept
	savedLink                   // the content, as the same inode
	busy                        // somebody is at it
)

// enough reports whether a change of this kind loses nothing any more.
func (o *object) enough(how How) bool {
	switch {
	case o.saved&busy != 0:
		return false
	case how == Write:
		return o.saved&savedData != 0
	case how == Remove || how == Replace:
		return o.saved&(savedData|savedLink) != 0
	}
	return o.saved&savedNode != 0
}

type node struct {
	kids  map[string]*node
	obj   *object // of orig and alias
	state state
}

// vacant stands for every name of the session that has nothing below it worth a
// note. It is never changed.
var vacant = &node{state: ours}

// names is what the session made of the names of the trees. Writer and reader
// build the same one from the same calls in the same order, and so number the
// objects alike: an object has its number from the first time it is touched, the
// roots of the trees have the first ones.
type names struct {
	roots  []*node
	count  int
	next   uint32
	recent []rename // the last ones, which may turn out to have failed

	// born is told of every new object: it was at rest below above.
	born func(o, above *object, rest string)
}

type place struct {
	tree int
	rel  string
}

// compare puts a directory before what is in it.
func (s place) compare(o place) int {
	return cmp.Or(cmp.Compare(s.tree, o.tree),
		cmp.Compare(strings.Count(s.rel, "/"), strings.Count(o.rel, "/")), cmp.Compare(s.rel, o.rel))
}

type rename struct {
	from, to place
	old      *node // what stood at the target
	silent   bool  // it changed nothing here
}

const maxRecent = 64

func newNames(trees int) *names {
	t := &names{}
	for range trees {
		t.roots = append(t.roots, &node{state: orig, obj: &object{id: t.next}})
		t.next++
	}
	return t
}

// find returns the node of exactly this name, if there is one, and the one that
// speaks for it, with the path from there.
func (t *names) find(s place) (exact, cover *node, rest string) {
	n := t.roots[s.tree]
	cover, rest = n, s.rel
	for left := s.rel; left != ""; {
		i := strings.IndexByte(left, '/')
		name := left
		if i < 0 {
			left = ""
		} else {
			name, left = left[:i], left[i+1:]
		}
		if n = n.kids[name]; n == nil {
			return nil, cover, rest
		}
		if n.state != inherit {
			cover, rest = n, left
		}
	}
	return n, cover, rest
}

// ours reports whether nothing under this name was there before the session.
func (t *names) ours(s place) bool {
	_, cover, _ := t.find(s)
	return cover.state == ours
}

// bare is ours for all below, too.
func (t *names) bare(s place) bool {
	exact, cover, _ := t.find(s)
	return cover.state == ours && (exact == nil || len(exact.kids) == 0)
}

// at returns the node of a name and makes it, and those above, if need be.
func (t *names) at(s place) *node {
	n := t.roots[s.tree]
	for left, more := s.rel, s.rel != ""; more; {
		var name string
		name, left, more = strings.Cut(left, "/")
		kid := n.kids[name]
		if kid == nil || kid == vacant {
			fresh := &node{}
			if kid == vacant {
				fresh.state = ours
			}
			t.set(n, name, fresh)
			kid = fresh
		}
		n = kid
	}
	return n
}

func (t *names) set(dir *node, name string, n *node) {
	if dir.kids == nil {
		dir.kids = map[string]*node{}
	}
	if old, ok := dir.kids[name]; ok {
		t.count -= old.size()
		dir.kids[name] = n
	} else {
		dir.kids[strings.Clone(name)] = n
	}
	t.count += n.size()
}

func (n *node) size() int {
	sum := 1
	for _, kid := range n.kids {
		sum += kid.size()
	}
	return sum
}

// reach is how much longer than that of the node the longest path below it is.
func (n *node) reach() int {
	most := 0
	for name, kid := range n.kids {
		most = max(most, 1+len(name)+kid.reach())
	}
	return most
}

// grows reports whether a path that is followed would be too long if what is at one
// place were at the other.
func (t *names) grows(from, to place) bool {
	n, _, _ := t.find(from)
	return n != nil && len(to.rel)+n.reach() > maxDeep
}

// own returns the node of a name, with a state of its own.
func (t *names) own(s place) *node {
	_, cover, rest := t.find(s)
	n := t.at(s)
	if n.state != inherit {
		return n
	}
	if cover.state != orig {
		n.state = ours
		return n
	}
	n.state, n.obj = orig, &object{id: t.next}
	t.next++
	if t.born != nil {
		t.born(n.obj, cover.obj, rest)
	}
	return n
}

// put sets what stands under a name and returns what stood there.
func (t *names) put(s place, n *node) *node {
	dir, name := split(s.rel)
	parent := t.at(place{s.tree, dir})
	old := parent.kids[name]
	if n != nil {
		t.set(parent, name, n)
	} else if old != nil {
		t.count -= old.size()
		delete(parent.kids, name)
	}
	return old
}

// take takes what stands under a name away.
func (t *names) take(s place) *node {
	n := t.own(s)
	t.put(s, vacant)
	return n
}

func (t *names) created(s place) { t.put(s, vacant) }

func (t *names) renamed(from, to place) {
	t.remember(rename{from: from, to: to, old: t.put(to, t.take(from))})
}

func (t *names) remember(r rename) {
	if len(t.recent) == maxRecent {
		t.recent = append(t.recent[:0], t.recent[1:]...)
	}
	t.recent = append(t.recent, r)
}

// recall finds a rename among the last ones, the latest first.
func (t *names) recall(from, to place) int {
	for i := len(t.recent) - 1; i >= 0; i-- {
		if t.recent[i].from == from && t.recent[i].to == to {
			return i
		}
	}
	return -1
}

// notRenamed takes a rename back that recall found.
func (t *names) notRenamed(i int) {
	r := t.recent[i]
	t.recent = append(t.recent[:i], t.recent[i+1:]...)
	n := t.take(r.to)
	t.put(r.to, r.old)
	t.put(r.from, n)
}

func (t *names) linked(from, to place) {
	n := t.own(from)
	t.put(to, &node{state: alias, obj: n.obj})
}
