package undo

import (
	"strings"

	"golang.org/x/sys/unix"
)

// gitKind says what git has in a place of a git directory.
type gitKind uint8

const (
	notGit   gitKind = iota
	gitOther         // a file that has no part in what is below
	gitObject
	gitCache // goes with the objects, and is never touched
	gitRef
	gitHead // says which ref counts
	gitPacked
	gitReflog
	gitIndex
	gitTable // of a store of refs in tables
)

// gitPlace is a place in a git directory.
type gitPlace struct {
	kind gitKind
	dir  place  // the git directory
	name string // of a ref or a reflog: which ref
}

// common is the git directory that has the refs and the objects: of a linked worktree,
// that of its repository.
func (p gitPlace) common() place {
	dir, _ := split(p.dir.rel)
	if up, name := split(dir); name == "worktrees" {
		return place{p.dir.tree, up}
	}
	return p.dir
}

// ref is where a loose ref lies. Those of a linked worktree alone are in its own directory.
func (p gitPlace) ref(name string) place {
	dir := p.common()
	if !strings.HasPrefix(name, "refs/") || strings.HasPrefix(name, "refs/bisect/") ||
		strings.HasPrefix(name, "refs/worktree/") || strings.HasPrefix(name, "refs/rewritten/") {
		dir = p.dir
	}
	return place{dir.tree, join(dir.rel, name)}
}

// disk is one look at git directories as the host has them. What git would take for one is
// found by what is in it, whatever its name.
type disk struct {
	root  func(tree int) (int, error)
	known map[place]bool
	packs map[place]*gitPacks
}

func newDisk(root func(int) (int, error)) *disk {
	return &disk{root: root, known: map[place]bool{}, packs: map[place]*gitPacks{}}
}

func (d *disk) look(s place) (entry, error) {
	root, err := d.root(s.tree)
	if err != nil {
		return entry{}, err
	}
	fd, err := openAt(root, s.rel, unix.O_PATH)
	if err != nil {
		return entry{}, err
	}
	defer unix.Close(fd)
	return look(fd, "")
}

func (d *disk) has(s place, name string) bool {
	_, err := d.look(place{s.tree, join(s.rel, name)})
	return err == nil
}

// isGit reports whether a directory is, or was meant to be, a git directory. To say yes
// costs a leftover, to say no an object: half of one will do.
func (d *disk) isGit(s place) bool {
	is, ok := d.known[s]
	if !ok {
		_, name := split(s.rel)
		switch {
		case name == ".git":
			is = d.has(s, "objects") || d.has(s, "HEAD") || d.has(s, "refs")
		case d.has(s, "objects"):
			is = d.has(s, "HEAD") || d.has(s, "refs") || d.has(s, "packed-refs")
		case d.has(s, "HEAD"):
			is = d.has(s, "commondir")
		}
		d.known[s] = is
	}
	return is
}

// place finds the git directory that a place is in, the innermost that knows its name.
func (d *disk) place(s place) gitPlace {
	other := gitPlace{}
	for dir := s; dir.rel != ""; {
		dir.rel, _ = split(dir.rel)
		if !d.isGit(dir) {
			continue
		}
		p := gitPlace{dir: dir}
		p.kind, p.name = gitKindOf(strings.TrimPrefix(s.rel[len(dir.rel):], "/"))
		if p.kind != gitOther {
			return p
		}
		if other.kind == notGit {
			other = p
		}
	}
	return other
}

// gitKindOf says what a path in a git directory is.
func gitKindOf(rel string) (gitKind, string) {
	top, rest, deep := strings.Cut(rel, "/")
	switch {
	case top == "objects" && deep:
		return objectKind(rest), ""
	case top == "lfs" && strings.HasPrefix(rest, "objects/"):
		return gitObject, ""
	case top == "refs" && deep:
		return gitRef, rel
	case top == "logs" && deep:
		return gitReflog, rest
	case top == "reftable":
		return gitTable, ""
	case deep:
		return gitOther, ""
	}
	switch rel {
	case "HEAD":
		return gitHead, ""
	case "packed-refs":
		return gitPacked, ""
	case "index":
		return gitIndex, ""
	case "shallow":
		return gitCache, "" // which parents are not there is known from here alone
	}
	return gitOther, ""
}

// objectKind says what a path in a directory of objects is.
func objectKind(rel string) gitKind {
	dir, name, _ := strings.Cut(rel, "/")
	switch {
	case len(dir) == 2 && isHex(dir) && (len(name) == 38 || len(name) == 62) && isHex(name):
		return gitObject
	case rel == "info/alternates":
		return gitObject
	case dir == "info":
		return gitCache
	case dir == "pack" && strings.HasPrefix(name, "multi-pack-index"):
		return gitCache
	case dir == "pack" && strings.HasPrefix(name, "pack-"):
		return gitObject
	}
	return gitOther
}

func isHex(s string) bool { return s != "" && strings.Trim(s, "0123456789abcdef") == "" }
