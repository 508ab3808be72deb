package undo

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// owner says whose something is: the session's, or that of the tree before the
// session, where it was at home.
type owner struct {
	mine bool
	home place
}

func (o owner) below(name string) owner {
	o.home.rel = join(o.home.rel, name)
	return o
}

// part is a part of a tree of now that came there as a whole: what the session
// made, or what it moved there.
type part struct {
	at   place
	node *node
	owner
}

// of says whose a name is in a directory of somebody, and whether something of
// its own begins there.
func (l *Log) of(dir owner, name string, n *node) (o owner, begins bool) {
	o = dir.below(name)
	if n == nil || n.state == inherit {
		return o, false
	}
	if n.state != orig {
		return owner{mine: true}, !dir.mine
	}
	home := l.all[n.obj.id].home
	return owner{home: home}, dir.mine || home != o.home
}

// parts lists all that is not where it was before the session, and what else
// is asked for.
func (l *Log) parts(also map[*node]bool) []part {
	var all []part
	var visit func(s place, n *node, o owner)
	visit = func(s place, n *node, o owner) {
		for name, kid := range n.kids {
			at := place{s.tree, join(s.rel, name)}
			whose, begins := l.of(o, name, kid)
			if begins || also[kid] {
				all = append(all, part{at, kid, whose})
			}
			visit(at, kid, whose)
		}
	}
	for i, root := range l.names.roots {
		visit(place{i, ""}, root, owner{home: place{i, ""}})
	}
	slices.SortFunc(all, func(a, b part) int { return a.at.compare(b.at) })
	return all
}

// found is an entry of a part.
type found struct {
	entry
	at   place
	home place // where it was, unless the part is the session's
	dir  int   // the directory it is in
	name string
	err  error // why it, or all that is in it, cannot be looked at
}

// walk visits every entry of a part that is on the disk, a directory before
// what is in it, as long as visit says so. What cannot be looked at is visited with
// the error, and the walk goes on: nothing hides what is beside it.
func (l *Log) walk(r part, visit func(found) bool) {
	dir, name, err := l.parent(r.at)
	if missing(err) {
		return
	}
	if err != nil {
		visit(found{at: r.at, home: r.home, err: err})
		return
	}
	defer unix.Close(dir)
	l.walkAt(lookAt(dir, name), r, visit)
}

// lookAt is what is in a directory under a name.
func lookAt(dir int, name string) found {
	e, err := look(dir, name)
	if err == nil && e.kind == change.Symlink {
		e.link, err = readLink(dir, name)
	}
	return found{entry: e, dir: dir, name: name, err: err}
}

func (l *Log) walkAt(f found, r part, visit func(found) bool) bool {
	if missing(f.err) {
		return true
	}
	f.at, f.home = r.at, r.home
	if !visit(f) {
		return false
	}
	return f.err != nil || f.kind != change.Directory || l.walkIn(f, r, visit)
}

// walkIn visits what is in a directory. That one is closed to us is no news: its mode
// says so.
func (l *Log) walkIn(f found, r part, visit func(found) bool) bool {
	fd, err := openAt(f.dir, f.name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.EACCES || missing(err) {
		return true
	}
	if f.err = err; err != nil {
		return visit(f)
	}
	in := os.NewFile(uintptr(fd), f.name)
	defer in.Close()
	entries, err := list(in)
	for _, name := range entries {
		n := r.node.kid(name)
		o, begins := l.of(r.owner, name, n)
		if begins {
			continue
		}
		below := part{place{r.at.tree, join(r.at.rel, name)}, n, o}
		if len(below.at.rel) > maxDeep {
			err = errDeep
		} else if !l.walkAt(lookAt(fd, name), below, visit) {
			return false
		}
	}
	if f.err = err; err != nil {
		return visit(f)
	}
	return true
}

func (n *node) kid(name string) *node {
	if n == nil {
		return nil
	}
	return n.kids[name]
}

func list(f *os.File) ([]string, error) {
	entries, err := f.Readdirnames(-1)
	slices.Sort(entries)
	return entries, err
}
