package review

import (
	"errors"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// Settle brings to the host what was held and needs nobody's eyes: what git itself
// writes in ordinary work and what makes git run nothing. Everything is judged by the
// content that is written. It is for the run that has the work, at the end of its session.
// Before anything changes on the host, store is told, so that it can be undone like
// the rest. Settle comes after the keeper was closed and before the store is.
func (w *Work) Settle(store *undo.Store) ([]Outcome, error) {
	j, err := newJudge(w, nil)
	if err != nil {
		return nil, err
	}
	defer j.close()
	waits := make([][]change.Change, len(w.Trees))
	for n := range w.Trees {
		if w.Trees[n].View != Live {
			continue
		}
		if waits[n], err = w.Layer(n).Changes(); err != nil {
			return nil, err
		}
		if waits[n], err = w.tree(n).followModes(waits[n]); err != nil {
			return nil, err
		}
		if waits[n], err = w.tree(n).dropEmptied(j.trees[n], waits[n]); err != nil {
			return nil, err
		}
	}
	j.findHarmless(waits)
	out, err := w.dropRefused(j, waits)
	if err != nil {
		return nil, err
	}
	for n := range w.Trees {
		if w.Trees[n].View != Live {
			continue
		}
		results, err := w.tree(n).settle(j, waits[n], store)
		out = append(out, results...)
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// dropRefused leaves groups out of which something could not be brought over, because the
// host has changed it meanwhile: all or none. A pointer without its directory, or settings
// without the pointer that they were judged by, would be something else.
func (w *Work) dropRefused(j *judge, waits [][]change.Change) (out []Outcome, err error) {
	for again := true; again; {
		again = false
		for n := range w.Trees {
			chosen := j.harmless[n]
			if w.Trees[n].View != Live || len(chosen) == 0 {
				continue
			}
			l := w.Layer(n)
			l.Base = nil
			refused, err := l.Refusals(w.applyLog(n), cover(waits[n], chosen), withDirectories(waits[n], chosen))
			if err != nil {
				return nil, err
			}
			for _, r := range refused {
				if id := j.groups.find(j.groups.id(n, r.Path)); !j.groups.bad[id] {
					j.groups.bad[id], again = true, true
					out = append(out, Outcome{n, r.Path, string(r.Outcome), r.Why})
				}
			}
		}
		j.groups.choose(waits)
	}
	return out, nil
}

func (t treeWork) settle(j *judge, all []change.Change, store *undo.Store) ([]Outcome, error) {
	l := t.layer()
	l.Base = nil // what is written is what was judged, never a merged text
	chosen := j.harmless[t.n]
	if err := t.unchanged(all, chosen); err != nil {
		return nil, err
	}
	if store != nil {
		for _, c := range withDirectories(all, chosen) {
			if err := j.trees[t.n].save(store, t.n, c); err != nil {
				return nil, err
			}
		}
	}
	return t.bring(l, all, chosen)
}

// unchanged chooses what is again as the host had it before the session: a file that
// one branch has and another has not is deleted and made anew.
func (t treeWork) unchanged(all []change.Change, chosen map[string]bool) error {
	log, err := undo.Open(t.work.Undo())
	if err != nil {
		return nil // nothing was ever deleted
	}
	defer log.Close()
	if t.n >= len(log.Trees()) {
		return nil
	}
	for _, c := range all {
		if c.Old != nil || c.From != "" || c.New == nil {
			continue
		}
		if was := log.Was(t.n, c.Path); was != nil && *was == *c.New {
			chosen[c.Path] = true
		}
	}
	return nil
}

// followModes gives directories of the layer that lie above what is held the modes
// that they have on the host, and leaves them out.
func (t treeWork) followModes(all []change.Change) ([]change.Change, error) {
	upper, err := sys.OpenSource(t.work.Upper(t.n))
	if err != nil {
		return nil, err
	}
	defer unix.Close(upper)
	for _, c := range all {
		if !staleDirectory(c) {
			continue
		}
		fd, err := sys.OpenBeneath(upper, c.Path)
		if err != nil {
			return nil, err
		}
		err = unix.Chmod("/proc/self/fd/"+strconv.Itoa(fd), c.Old.Mode)
		unix.Close(fd)
		if err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(all, staleDirectory), nil
}

// dropEmptied removes from the layer a directory that nothing holds and that is empty.
// It was live, and lay in the layer only for something held in it; the session has
// removed both, or the host would have it. What lies in a new directory waits with that.
func (t treeWork) dropEmptied(j *judged, all []change.Change) ([]change.Change, error) {
	upper, err := sys.OpenSource(t.work.Upper(t.n))
	if err != nil {
		return nil, err
	}
	defer unix.Close(upper)
	made := map[string]bool{}
	for _, c := range all {
		made[c.Path] = c.Old == nil
	}
	emptied := func(c change.Change) bool {
		if c.Old != nil || c.New == nil || c.From != "" || c.New.Type != change.Directory || made[dirOf(c.Path)] || j.verdict(c.Path, c.New, nil).Hold {
			return false
		}
		dir, err := sys.OpenBeneath(upper, dirOf(c.Path))
		if err != nil {
			return false
		}
		defer unix.Close(dir)
		return unix.Unlinkat(dir, baseOf(c.Path), unix.AT_REMOVEDIR) == nil
	}
	return slices.DeleteFunc(all, emptied), nil
}

// save tells the store of a change that is about to be brought to the host. It asks
// for a copy: another link to a file would look like a change on the host.
func (t *judged) save(store *undo.Store, n int, c change.Change) error {
	dir, err := sys.OpenBeneath(t.root, dirOf(c.Path))
	if absent(err) && c.New != nil {
		return store.Created(n, c.Path, c.New.Type == change.Directory)
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	err = store.Save(n, c.Path, dir, baseOf(c.Path), undo.Replace)
	if absent(err) && c.New != nil {
		return store.Created(n, c.Path, c.New.Type == change.Directory)
	}
	return err
}

// absent holds also where a file is in the place of a directory above: it gives way.
func absent(err error) bool { return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) }
