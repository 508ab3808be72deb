package undo

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/change"
)

// removeOurs removes what the session made and what was asked for.
func (r *restorer) removeOurs() error {
	var parts []region
	for _, g := range r.regions(r.left) {
		if g.mine && (r.aside[g.at] || r.wants(g.at) || r.left[g.node]) {
			parts = append(parts, g)
		}
	}
	for p := range r.paths {
		at := spot{r.tree, p}
		if n, cover, _ := r.names.find(at); cover.state != orig {
			parts = append(parts, region{at, n, owner{mine: true}})
		}
	}
	slices.SortFunc(parts, func(a, b region) int { return b.at.compare(a.at) })
	for _, g := range parts {
		err := r.removeRegion(g)
		if err != nil && !r.local(err) {
			return err
		}
		if err != nil {
			r.say(g.at.rel, Conflict, err.Error())
		}
	}
	return nil
}

func (r *restorer) removeRegion(g region) error {
	dir, name, err := r.parent(g.at)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	was, err := look(dir, name)
	if missing(err) {
		return nil
	}
	if err != nil {
		return err
	}
	gone, err := r.remove(dir, name, was, g)
	if err == nil && gone && !r.aside[g.at] {
		r.say(g.at.rel, Removed, "")
	}
	return err
}

// remove removes an entry that the session made, and all below.
func (r *restorer) remove(dir int, name string, e entry, g region) (bool, error) {
	if e.kind == change.Directory {
		return r.removeDir(dir, name, g)
	}
	if r.late(e) {
		r.say(g.at.rel, Conflict, changedLater)
		return false, nil
	}
	if e.many {
		if err := r.begin(e.ident); err != nil {
			return false, err
		}
	}
	r.failpoint("unlink")
	if err := unix.Unlinkat(dir, name, 0); err != nil && !missing(err) {
		return false, err
	}
	return true, nil
}

func (r *restorer) removeDir(dir int, name string, g region) (bool, error) {
	r.failpoint("chmod")
	fd, err := openDirAt(dir, name)
	if err != nil {
		return false, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	entries, err := list(f)
	if err != nil {
		return false, err
	}
	all, gone := true, []string(nil)
	for _, kid := range entries {
		n := g.node.kid(kid)
		o, begins := r.of(g.owner, kid, n)
		if begins {
			all = false
			continue
		}
		below := region{spot{g.at.tree, join(g.at.rel, kid)}, n, o}
		ok, err := r.removeIn(fd, kid, below)
		if err != nil && !r.local(err) {
			return false, err
		}
		if err != nil {
			r.say(below.at.rel, Conflict, err.Error())
		}
		if ok {
			gone = append(gone, below.at.rel)
		}
		all = all && ok
	}
	if !all {
		for _, path := range gone {
			r.say(path, Removed, "")
		}
		r.say(g.at.rel, Conflict, "it is not empty")
		return false, nil
	}
	r.failpoint("rmdir")
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil && !missing(err) {
		return false, err
	}
	return true, nil
}

// removeIn removes one entry of a directory that the session made.
func (r *restorer) removeIn(dir int, name string, g region) (bool, error) {
	if len(g.at.rel) > maxDeep {
		return false, errDeep
	}
	e, err := look(dir, name)
	if missing(err) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return r.remove(dir, name, e, g)
}

// list reads a directory of the disk.
func (l *Log) list(s spot) ([]string, error) {
	dir, name, err := l.parent(s)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := openDirAt(dir, name)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	return list(f)
}
