package undo

import (
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
)

// ourParts lists what the session made and what was asked for.
func (p *plan) ourParts() (parts []part) {
	for _, g := range p.parts(p.gaps) {
		if g.mine && (p.aside[g.at] || p.wants(g.at) || p.gaps[g.node]) {
			parts = append(parts, g)
		}
	}
	for rel := range p.paths {
		at := place{p.tree, rel}
		if n, cover, _ := p.names.find(at); cover.state != orig {
			parts = append(parts, part{at, n, owner{mine: true}})
		}
	}
	slices.SortFunc(parts, func(a, b part) int { return b.at.compare(a.at) })
	return parts
}

// removeOurs removes them.
func (r *restorer) removeOurs() error {
	for _, g := range r.ourParts() {
		err := r.removePart(g)
		if err != nil && !r.local(err) {
			return err
		}
		if err != nil {
			r.say(g.at.rel, Conflict, err.Error())
		}
	}
	return nil
}

// fate is what became of something that the session made.
type fate uint8

const (
	gone     fate = iota
	stays         // as it should, and not a word about it
	conflict      // it was said
)

func (r *restorer) removePart(g part) error {
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
	became, err := r.remove(dir, name, was, g)
	if err == nil && became == gone && !r.aside[g.at] {
		r.say(g.at.rel, Removed, "")
	}
	return err
}

// remove removes an entry that the session made, and all below.
func (r *restorer) remove(dir int, name string, e entry, g part) (fate, error) {
	if why := r.git.remain[g.at]; why != "" {
		r.say(g.at.rel, Conflict, why)
		return conflict, nil
	}
	if e.kind == change.Directory {
		return r.removeDir(dir, name, e.mode, g)
	}
	if why, quiet := r.git.spared(g.at); quiet {
		return stays, nil
	} else if why == "" && !r.git.free[g.at] {
		why = r.foreign(e, g)
		if why != "" {
			r.say(g.at.rel, Conflict, why)
			return conflict, nil
		}
	} else if why != "" {
		return conflict, nil // it was said of the directory
	}
	if err := r.unname(dir, name); err != nil {
		return conflict, err
	}
	if err := r.aboutTo(g.at, Remove); err != nil {
		return conflict, err
	}
	r.failpoint("unlink")
	if err := unix.Unlinkat(dir, name, 0); err != nil && !missing(err) {
		return conflict, err
	}
	return gone, nil
}

// foreign says why something under a name of the session is not what the session left.
func (r *restorer) foreign(e entry, g part) string {
	switch {
	case r.late(e):
		return changedLater
	case r.displaced(g.at):
		return movedThere
	case !r.force && (g.node == nil || g.node.state != alias) && r.older(e):
		return "it is older than the session"
	}
	return ""
}

func (r *restorer) removeDir(dir int, name string, mode uint32, g part) (fate, error) {
	if err := r.aboutTo(g.at, Mode); err != nil {
		return conflict, err
	}
	r.failpoint("chmod")
	fd, err := openDirAt(dir, name)
	if err != nil {
		return conflict, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	entries, err := list(f)
	if err != nil {
		return conflict, err
	}
	if len(entries) > 0 && mode&0o300 != 0o300 {
		unix.Fchmod(fd, mode|0o700) // else nothing in it can go
		defer unix.Fchmod(fd, mode) // it may stay
	}
	worst, removed := gone, []string(nil)
	for _, kid := range entries {
		n := g.node.kid(kid)
		o, begins := r.of(g.owner, kid, n)
		if begins {
			worst = conflict
			continue
		}
		below := part{place{g.at.tree, join(g.at.rel, kid)}, n, o}
		became, err := r.removeIn(fd, kid, below)
		if err != nil && !r.local(err) {
			return conflict, err
		}
		if err != nil {
			r.say(below.at.rel, Conflict, err.Error())
		}
		if became == gone {
			removed = append(removed, below.at.rel)
		}
		worst = max(worst, became)
	}
	if worst == gone && r.displaced(g.at) && r.git.place(g.at).kind == notGit {
		r.say(g.at.rel, Conflict, movedThere)
		return conflict, nil
	}
	if worst != gone {
		for _, path := range removed {
			r.say(path, Removed, "")
		}
		if worst == conflict {
			r.say(g.at.rel, Conflict, "it is not empty")
		}
		return worst, nil
	}
	if err := r.aboutTo(g.at, Remove); err != nil {
		return conflict, err
	}
	r.failpoint("rmdir")
	if err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR); err != nil && !missing(err) {
		return conflict, err
	}
	return gone, nil
}

// removeIn removes one entry of a directory that the session made.
func (r *restorer) removeIn(dir int, name string, g part) (fate, error) {
	if len(g.at.rel) > maxDeep {
		return conflict, errDeep
	}
	e, err := look(dir, name)
	if missing(err) {
		return gone, nil
	}
	if err != nil {
		return conflict, err
	}
	return r.remove(dir, name, e, g)
}

// list reads a directory of the disk.
func (h *hostTrees) list(s place) ([]string, error) {
	dir, name, err := h.parent(s)
	if err != nil {
		return nil, err
	}
	defer unix.Close(dir)
	fd, err := openDirAt(dir, name)
	if err != nil {
		return nil, err
	}
	return sys.Names(fd)
}
