package undo

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/change"
)

// owner says whose something is: the session's, or that of the tree before the
// session, where it was at home.
type owner struct {
	mine bool
	home spot
}

func (o owner) below(name string) owner {
	o.home.rel = join(o.home.rel, name)
	return o
}

// region is a part of a tree of now that came there as a whole: what the session
// made, or what it moved there.
type region struct {
	at   spot
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

// regions lists all that is not where it was before the session, and what else
// is asked for.
func (l *Log) regions(also map[*node]bool) []region {
	var all []region
	var visit func(s spot, n *node, o owner)
	visit = func(s spot, n *node, o owner) {
		for name, kid := range n.kids {
			at := spot{s.tree, join(s.rel, name)}
			whose, begins := l.of(o, name, kid)
			if begins || also[kid] {
				all = append(all, region{at, kid, whose})
			}
			visit(at, kid, whose)
		}
	}
	for i, root := range l.names.roots {
		visit(spot{i, ""}, root, owner{home: spot{i, ""}})
	}
	slices.SortFunc(all, func(a, b region) int { return a.at.compare(b.at) })
	return all
}

// found is an entry of a region.
type found struct {
	entry
	at   spot
	home spot // where it was, unless the region is the session's
	dir  int  // the directory it is in
	name string
}

// walk visits every entry of a region that is on the disk, a directory before
// what is in it. What cannot be opened is not entered.
func (l *Log) walk(r region, visit func(found) error) error {
	dir, name, err := l.parent(r.at)
	if missing(err) || err == unix.EACCES {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return l.walkAt(dir, name, r, visit)
}

func (l *Log) walkAt(dir int, name string, r region, visit func(found) error) error {
	e, err := look(dir, name)
	if missing(err) || err == unix.EACCES {
		return nil
	}
	if err != nil {
		return err
	}
	if e.kind == change.Symlink {
		if e.link, err = readLink(dir, name); err != nil {
			return err
		}
	}
	if err := visit(found{e, r.at, r.home, dir, name}); err != nil || e.kind != change.Directory {
		return err
	}
	fd, err := openAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err == unix.EACCES || missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	entries, err := list(f)
	if err != nil {
		return err
	}
	for _, kid := range entries {
		n := r.node.kid(kid)
		o, begins := l.of(r.owner, kid, n)
		if begins {
			continue
		}
		below := region{spot{r.at.tree, join(r.at.rel, kid)}, n, o}
		if err := l.walkAt(fd, kid, below, visit); err != nil {
			return err
		}
	}
	return nil
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
