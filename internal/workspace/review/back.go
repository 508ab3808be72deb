package review

import (
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/workspace/undo"
)

// UndoAll brings back on the host what was there before the session, and before what
// was applied of it: all of it, or what sel names, by the names of before or of now. What
// somebody changed since is left alone unless force is set. What waits is not touched. It
// is written down like a session: Redo takes it back.
//
// After an interruption the same call finishes the work.
func (w *Work) UndoAll(sel []Selected, force bool) ([]Outcome, error) {
	return w.goBack(deedUndo, standing, sel, force)
}

// Redo undoes the undos since the last redo: what they removed or brought back is as the
// session left it.
func (w *Work) Redo(sel []Selected, force bool) ([]Outcome, error) {
	return w.goBack(deedRedo, undone, sel, force)
}

func (w *Work) goBack(what deed, choose func([]stored) []stored, sel []Selected, force bool) (out []Outcome, err error) {
	release, err := w.Seize()
	if err != nil {
		return nil, err
	}
	defer release()
	all, err := w.stores()
	if err != nil {
		return nil, err
	}
	h, err := w.openStores(choose(all), true) // we have the lock
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, fmt.Errorf("session %s has no store for %s", w.ID, what)
	}
	defer h.Close()
	store, dir, err := w.record(what, w.Trees)
	if err != nil {
		return nil, fmt.Errorf("keep what %s takes away: %w", what, err)
	}
	for _, log := range slices.Backward(h.logs) {
		log.Step, log.Record = w.Step, store
		more, err := restore(log, len(w.Trees), sel, force)
		out = append(out, more...)
		if err != nil {
			recorded(store, dir)
			return merged(out), err
		}
	}
	if err := recorded(store, dir); err != nil {
		return merged(out), err
	}
	return merged(out), w.forget()
}

func restore(log *undo.Log, trees int, sel []Selected, force bool) (out []Outcome, err error) {
	for n := range trees {
		paths, any := pathsIn(sel, n)
		if !any {
			continue
		}
		results, err := log.Restore(n, paths, force)
		for _, r := range results {
			out = append(out, Outcome{n, r.Path, string(r.Outcome), r.Why})
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// merged makes one outcome of all that several stores say of a path: that something is in
// the way counts, and then that something was done.
func merged(all []Outcome) (out []Outcome) {
	at := map[Selected]int{}
	for _, o := range all {
		i, said := at[Selected{o.Tree, o.Path}]
		switch {
		case !said:
			at[Selected{o.Tree, o.Path}] = len(out)
			out = append(out, o)
		case !out[i].Failed() && (o.Failed() || out[i].Result == string(undo.Same)):
			out[i] = o
		}
	}
	return out
}

// pathsIn returns what sel asks of a tree: nil for all of it.
func pathsIn(sel []Selected, n int) (paths []string, any bool) {
	if sel == nil {
		return nil, true
	}
	for _, s := range sel {
		if s.Tree != n {
			continue
		}
		if s.Path == "." {
			return nil, true
		}
		paths = append(paths, s.Path)
	}
	return paths, len(paths) > 0
}
