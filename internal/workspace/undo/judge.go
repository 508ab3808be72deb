package undo

import (
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// selected lists what a run brings back, directories before what was in them:
// what it was asked for, and what must be back, or out of the way, for that.
func (p *plan) selected() []*original {
	in := map[*original]bool{}
	var add func(t *original)
	add = func(t *original) {
		if in[t] || p.first[t.home] != t {
			return
		}
		in[t] = true
		for dir := t.home; dir.rel != ""; {
			dir.rel, _ = split(dir.rel)
			if above := p.first[dir]; above != nil && !p.inPlace(above) {
				add(above)
			}
		}
		if n, _, _ := p.names.find(t.home); n != nil && n.state == orig {
			if other := p.all[n.obj.id]; other != t && !p.inPlace(other) {
				add(other)
			}
		}
	}
	for _, t := range p.all {
		at, ok := p.at[t.id]
		if ok && p.paths != nil && p.wants(at) && at != t.home {
			p.found = append(p.found, at.rel)
		}
		if p.wants(t.home) || ok && p.wants(at) {
			add(t)
		}
	}
	var originals []*original
	for t := range in {
		originals = append(originals, t)
	}
	slices.SortFunc(originals, func(a, b *original) int { return a.home.compare(b.home) })
	return originals
}

// inPlace reports whether an original is where it was, on the disk too.
func (p *plan) inPlace(t *original) bool {
	at, ok := p.at[t.id]
	if !ok || at != t.home {
		return false
	}
	_, err := p.look(at)
	return !missing(err)
}

// judge finds what must stay as it is, before anything is touched: also what cannot
// be looked at.
func (r *restorer) judge(originals []*original) error {
	for again := true; again; {
		again = false
		for _, t := range originals {
			if r.stuck[t.id] != "" {
				continue
			}
			why, err := r.verdict(t)
			if err != nil && !r.local(err) {
				return err
			}
			if err != nil {
				why = "it cannot be looked at: " + err.Error()
			}
			if why != "" {
				r.stuck[t.id], again = why, true
			}
		}
		again = r.git.judgeOurs() || again
	}
	return nil
}

const changedLater = "it was changed after the session"

// verdict says why an original cannot be brought back, if so.
func (p *plan) verdict(t *original) (string, error) {
	for dir := t.home; dir.rel != ""; {
		dir.rel, _ = split(dir.rel)
		if above := p.first[dir]; above != nil && p.stuck[above.id] != "" && !p.inPlace(above) {
			return "its directory cannot be brought back", nil
		}
	}
	at, here := p.carried(t)
	if !here {
		at = p.vacancy(t)
	}
	e, err := p.look(at)
	gone := missing(err)
	if err != nil && !gone {
		return "", err
	}
	if in, ok := p.git.gitFile(t, at); ok && (gone || e.kind == change.File) {
		there := &e
		if gone {
			there = nil
		}
		return p.git.gitVerdict(t, in, at, there)
	}
	if gone {
		return p.goneSince(at), nil
	}
	if same, err := p.same(t, at, e); same || err != nil {
		return "", err
	}
	return p.inTheWay(t, at, here, e), nil
}

// goneSince says that somebody deleted what the session left, if so.
func (p *plan) goneSince(at place) string {
	if was, known := p.leftAt(at); known && was.ident != (ident{}) && !p.force {
		return deletedLater
	}
	return ""
}

// replaced reports whether something else is in a place than the session left.
func (p *plan) replaced(at place, e entry) bool {
	was, known := p.leftAt(at)
	return known && was.ident != e.ident && !p.force && !p.begun[e.ident]
}

const movedThere = "it was moved there after the session"

// displaced reports whether something is in a directory, or is one, that stands where the
// session left another or nothing: somebody moved it there, which changes no file in it.
// What this undo moved is where it should be.
func (p *plan) displaced(at place) bool {
	if p.force {
		return false
	}
	for s := at; s.rel != ""; s.rel, _ = split(s.rel) {
		if p.shaken[s] {
			return false
		}
	}
	for s := at; s.rel != ""; s.rel, _ = split(s.rel) {
		other, known := p.strange[s]
		if !known {
			if _, noted := p.left[s]; noted {
				e, err := p.look(s)
				other = err == nil && p.replaced(s, e)
			}
			p.strange[s] = other
		}
		if other {
			return true
		}
	}
	return false
}

// carried reports whether an original is where it was in its directory, wherever that
// is now.
func (p *plan) carried(t *original) (place, bool) {
	at, ok := p.at[t.id]
	if !ok || at.rel == "" {
		return at, ok
	}
	dir, name := split(at.rel)
	_, cover, rest := p.names.find(place{at.tree, dir})
	if cover.state != orig {
		return at, false
	}
	home := p.all[cover.obj.id].home
	return at, t.home == place{home.tree, join(join(home.rel, rest), name)}
}

// inTheWay says why what is under the name of an original must stay there, if so.
func (p *plan) inTheWay(t *original, at place, here bool, e entry) string {
	n, _, _ := p.names.find(at)
	switch {
	case !here && n != nil && n.state == orig:
		if other := p.all[n.obj.id]; other != t && p.stuck[other.id] != "" {
			return "its place is taken by what was at " + strconv.Quote(other.home.rel)
		}
		return ""
	case e.kind != change.Directory:
		if p.late(e) || p.replaced(at, e) {
			return changedLater
		}
		return ""
	case p.adopts(t):
		return ""
	case p.displaced(at):
		return movedThere
	}
	late := ""
	p.walk(part{at, n, owner{mine: true}}, func(f found) bool {
		if f.err == nil && f.kind != change.Directory && p.late(f.entry) {
			late = "in its place is " + strconv.Quote(f.at.rel) + ", which was changed after the session"
		}
		return late == ""
	})
	return late
}

// adopts reports whether a directory that is in the place of an original can serve.
func (p *plan) adopts(t *original) bool {
	if t.node == nil || t.node.kind != change.Directory {
		return false
	}
	at, ok := p.at[t.id]
	if !ok || at == t.home {
		return true
	}
	_, err := p.look(at)
	return missing(err)
}

// same reports whether an entry of the disk is what an original was. The times of
// directories do not count, and of an original that only moved there is nothing that
// could differ.
func (p *plan) same(t *original, at place, e entry) (bool, error) {
	was := t.node
	if was == nil {
		have, ok := p.at[t.id]
		return ok && have == at, nil
	}
	if mode, ok := p.opened[t.id]; ok {
		e.mode = mode
	}
	if was.kind != e.kind || was.kind != change.Symlink && was.mode != e.mode || was.link != e.link {
		return false, nil
	}
	if was.kind != change.File {
		return true, nil
	}
	if t.blob == 0 && t.lost == "" {
		have, ok := p.at[t.id]
		return ok && have == at && (was.mtime == e.mtime || was.size != e.size), nil
	}
	if was.size != e.size || was.mtime != e.mtime || t.lost != "" {
		return false, nil
	}
	if p.itself(t, e) {
		return true, nil
	}
	return p.sameContent(t, at)
}

// itself reports whether what is kept of a file is this file: it was to be removed, and
// that failed.
func (l *Log) itself(t *original, e entry) bool {
	kept, err := look(unix.AT_FDCWD, filepath.Join(l.dir, keptName, blobName(t.blob)))
	return t.blob != 0 && err == nil && kept.dev == e.dev && kept.ident == e.ident
}

// sameContent compares a file with what is kept of it.
func (p *plan) sameContent(t *original, at place) (bool, error) {
	kept, err := p.openBlob(t.blob)
	if err != nil {
		return false, err
	}
	want := sum(kept)
	if want.err != nil {
		return false, want.err
	}
	dir, name, err := p.parent(at)
	if err != nil {
		return false, err
	}
	defer unix.Close(dir)
	have := sumAt(dir, name)
	if have.err == unix.EACCES || missing(have.err) {
		return false, nil
	}
	return have.err == nil && have.hash == want.hash, have.err
}
