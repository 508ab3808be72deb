package workspace

import "fmt"

// UndoAll brings back on the host what was there before the session: all of it, or
// what sel names, by the names of before or of now. What somebody changed after the
// session is left alone unless force is set. What waits is not touched.
//
// After an interruption the same call finishes the work.
func (w *Work) UndoAll(sel []Selected, force bool) ([]Outcome, error) {
	release, err := w.Seize()
	if err != nil {
		return nil, err
	}
	defer release()
	log, err := w.openLog()
	if err != nil {
		return nil, err
	}
	if log == nil {
		return nil, fmt.Errorf("session %s has no store for undo", w.ID)
	}
	defer log.Close()
	log.Step = w.Step
	if log.End().IsZero() {
		log.EndedAt(w.lastSeen()) // we have the lock: the session is over
	}
	var out []Outcome
	for n := range w.Trees {
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
	return out, w.forget()
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
