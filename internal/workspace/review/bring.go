package review

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/overlay"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// Selected is a part of a tree: what is at Path or below it. "." is all of it.
type Selected struct {
	Tree int
	Path string
}

// Masked is the result for a file that is never written back. It goes on waiting.
const Masked = "masked"

// LeftOut is the result for what is never brought to the host. It is no conflict.
const LeftOut = "left out"

// Outcome is what became of one path. Result is a word of package layer or undo, or
// Masked.
type Outcome struct {
	Tree   int
	Path   string
	Result string
	Why    string
}

// Failed says whether the path is not as it was asked to be.
func (o Outcome) Failed() bool {
	return o.Result == string(overlay.Conflict) || o.Result == string(undo.NotKept)
}

// selects reports whether a change is among what was asked for; nil asks for all.
func selects(sel []Selected, n int, c change.Change) bool {
	return sel == nil || slices.ContainsFunc(sel, func(s Selected) bool {
		return s.Tree == n && (below(c.Path, s.Path) || c.From != "" && below(c.From, s.Path))
	})
}

// halfSelected returns the name of a move that was not asked for: who asks for src wants
// no hook that was moved out of it.
func halfSelected(sel []Selected, n int, c change.Change) string {
	if sel == nil || c.From == "" {
		return ""
	}
	for _, p := range []string{c.Path, c.From} {
		if !selects(sel, n, change.Change{Path: p}) {
			return p
		}
	}
	return ""
}

// Apply brings to the host what waits: all of it, or what sel names. said is the
// report that a person saw: what is not as it was then is refused. Files that were
// masked stay as the host has them. Unless partial is set nothing is brought over where
// one change cannot be. What is brought over is written down: undo takes it back.
//
// After an interruption the same call finishes the work.
func (w *Work) Apply(sel []Selected, said *Report, partial bool) ([]Outcome, error) {
	release, err := w.Seize()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := w.decide(); err != nil {
		return nil, err
	}
	var out []Outcome
	var plans []planned
	for n := range w.Trees {
		p, masked, err := w.tree(n).plan(sel, said)
		if err != nil {
			return nil, err
		}
		out = append(out, masked...)
		plans = append(plans, p)
	}
	if !partial && slices.ContainsFunc(out, Outcome.Failed) {
		return out, nil
	}
	if !partial {
		if refused, err := w.refusals(plans); err != nil || len(refused) > 0 {
			return append(out, refused...), err
		}
	}
	results, err := w.applyAll(plans)
	if out = append(out, results...); err != nil {
		return out, err
	}
	return out, w.forget()
}

// planned is what is to be applied of a tree.
type planned struct {
	tree   int
	all    []change.Change
	chosen map[string]bool
	merge  []int // of all: files of secrets, whose real values are put in when nothing is in the way
}

func (t treeWork) plan(sel []Selected, said *Report) (p planned, masked []Outcome, err error) {
	p = planned{tree: t.n, chosen: map[string]bool{}}
	p.all, err = t.shown(said)
	for i, c := range p.all {
		if !selects(sel, t.n, c) {
			continue
		}
		if away := halfSelected(sel, t.n, c); away != "" {
			masked = append(masked, Outcome{t.n, c.Path, string(overlay.Conflict), fmt.Sprintf("it is a move of %q to %q, and %q was not asked for", c.From, c.Path, away)})
			continue
		}
		if c.New != nil && c.New.Type == change.Special {
			masked = append(masked, Outcome{t.n, c.Path, LeftOut, "a pipe, a socket or a device is never brought to the host"})
			continue
		}
		if t.masked(c) {
			if _, err := t.merged(c); err != nil {
				masked = append(masked, Outcome{t.n, c.Path, Masked, "never written back: " + err.Error()})
				continue
			}
			p.merge = append(p.merge, i)
		} else if t.holdsPhantom(c) {
			masked = append(masked, Outcome{t.n, c.Path, string(overlay.Conflict), "it holds phantom values, which stood inside for real ones"})
			continue
		}
		p.chosen[c.Path] = true
	}
	return p, append(masked, t.leaveOut(&p)...), err
}

// refusals asks what could not be brought over, and brings nothing over.
func (w *Work) refusals(plans []planned) (out []Outcome, err error) {
	for _, p := range plans {
		if len(p.chosen) == 0 {
			continue
		}
		results, err := w.Layer(p.tree).Refusals(w.applyLog(p.tree), w.Trees[p.tree].cover(p.all, p.chosen), withDirectories(p.all, p.chosen))
		for _, r := range results {
			out = append(out, Outcome{p.tree, r.Path, string(r.Outcome), r.Why})
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

func (w *Work) applyAll(plans []planned) (out []Outcome, err error) {
	store, dir, err := w.record(deedApply, w.Trees)
	if err != nil {
		return nil, fmt.Errorf("keep what apply takes away: %w", err)
	}
	defer func() { err = errors.Join(err, recorded(store, dir)) }()
	j, err := newJudge(w, nil)
	if err != nil {
		return nil, err
	}
	defer j.close()
	for _, p := range plans {
		for _, i := range p.merge {
			if p.all[i], err = w.tree(p.tree).unmask(p.all[i]); err != nil {
				return out, err
			}
		}
		for _, c := range withDirectories(p.all, p.chosen) {
			if err := j.trees[p.tree].saveBoth(store, p.tree, c); err != nil {
				return out, fmt.Errorf("keep what apply takes away: %w", err)
			}
		}
		results, err := w.tree(p.tree).bring(w.Layer(p.tree), p.all, p.chosen)
		if out = append(out, results...); err != nil {
			return out, err
		}
	}
	return out, nil
}

// saveBoth saves both names of a rename.
func (t *judged) saveBoth(store *undo.Store, n int, c change.Change) error {
	if c.From != "" {
		if err := t.save(store, n, change.Change{Path: c.From, Old: c.Old}); err != nil && !absent(err) {
			return err
		}
		c.Old = nil
	}
	err := t.save(store, n, c)
	if absent(err) && c.New == nil {
		return nil // the host deleted it too
	}
	return err
}

// shown returns what of a tree waits by a report, or now if there is none.
func (t treeWork) shown(said *Report) ([]change.Change, error) {
	if said == nil {
		return t.waiting()
	}
	if said.Work.ID != t.work.ID {
		return nil, fmt.Errorf("the report is of session %s", said.Work.ID)
	}
	var all []change.Change
	for _, e := range said.Entries {
		if e.Tree == t.n && e.State == Waits {
			all = append(all, e.Change)
		}
	}
	slices.SortFunc(all, change.Compare)
	return all, nil
}

func (f folder) applyLog(n int) string { return filepath.Join(f.dir, fmt.Sprintf("apply-%d.log", n)) }

// bring applies the chosen changes of a tree, and finishes what an interrupted run
// began. all is what is known to wait: nothing else is touched.
func (t treeWork) bring(l *overlay.Layer, all []change.Change, chosen map[string]bool) ([]Outcome, error) {
	if _, err := os.Lstat(t.work.applyLog(t.n)); len(chosen) == 0 && errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	results, err := l.Apply(t.work.applyLog(t.n), t.cover(all, chosen), withDirectories(all, chosen))
	var out []Outcome
	for _, r := range results {
		if r.Outcome != overlay.Same || chosen[r.Path] {
			out = append(out, Outcome{t.n, r.Path, string(r.Outcome), r.Why})
		}
	}
	return out, err
}

// withDirectories returns the chosen changes and the new directories above them,
// which come along.
func withDirectories(all []change.Change, chosen map[string]bool) []change.Change {
	need := map[string]bool{}
	for p := range chosen {
		for dir := dirOf(p); dir != "." && !need[dir]; dir = dirOf(dir) {
			need[dir] = true
		}
	}
	out := []change.Change{}
	for _, c := range all {
		if chosen[c.Path] || need[c.Path] && c.New != nil && c.New.Type == change.Directory {
			out = append(out, c)
		}
	}
	return out
}

// cover is of a tree: what stands in its layer for masked files is no change and was not
// chosen, and whoever asks for all would ask for that.
func (t *Tree) cover(all []change.Change, chosen map[string]bool) []string {
	for rel := range t.Phantoms {
		if !chosen[rel] {
			all = append(all[:len(all):len(all)], change.Change{Path: rel})
		}
	}
	return cover(all, chosen)
}

// cover names the chosen changes, and no other, by as few paths as can be: each
// stands for all that is below it. nil is all, empty is nothing.
func cover(all []change.Change, chosen map[string]bool) []string {
	others := map[string]bool{} // paths at or above something that was not chosen
	for _, c := range all {
		if chosen[c.Path] {
			continue
		}
		others["."] = true
		for _, p := range []string{c.Path, c.From} {
			for ; p != "" && p != "." && !others[p]; p = dirOf(p) {
				others[p] = true
			}
		}
	}
	if !others["."] && len(chosen) > 0 {
		return nil
	}
	tops := map[string]bool{}
	for p := range chosen {
		if others[p] {
			continue // a directory: it comes along with what needs it
		}
		for up := dirOf(p); !others[up] && up != "."; up = dirOf(up) {
			p = up
		}
		tops[p] = true
	}
	out := []string{}
	for p := range tops {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

// Discard forgets what waits: all of it, or what sel names. The host is not touched.
func (w *Work) Discard(sel []Selected) error {
	release, err := w.Seize()
	if err != nil {
		return err
	}
	defer release()
	if err := w.decide(); err != nil {
		return err
	}
	for n := range w.Trees {
		if _, err := w.tree(n).bring(w.Layer(n), nil, nil); err != nil { // an interrupted apply
			return err
		}
		if err := w.tree(n).discard(sel); err != nil {
			return err
		}
	}
	return w.forget()
}

func (t treeWork) discard(sel []Selected) error {
	if sel == nil {
		return t.layer().Discard(nil)
	}
	all, err := t.waiting()
	if err != nil {
		return err
	}
	chosen := map[string]bool{}
	for _, c := range all {
		if selects(sel, t.n, c) {
			chosen[c.Path] = true
		}
	}
	if len(chosen) == 0 {
		return nil
	}
	return t.layer().Discard(t.cover(all, chosen))
}

// forget removes the work if nothing waits and nothing can be undone any more.
func (w *Work) forget() error {
	waits, err := w.Waits()
	if err != nil || waits || w.Kept() {
		return err
	}
	return w.Remove()
}
