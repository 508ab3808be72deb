package review

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/undo"
)

// Whatever changes a tree of the host for a session is written down before: the session
// itself in the live view, an apply, an undo, and the undo of an undo. Each has a store of
// its own; their numbers say in which order they were.
//
// An undo brings back what is in the stores of the session, of each apply and of each redo,
// the latest first. A redo does the same with the stores of the undos since the last redo.
type deed string

const (
	deedApply deed = "apply"
	deedUndo  deed = "undo"
	deedRedo  deed = "redo"
)

// What is kept of what a person's own command takes away.
const (
	keptOfFile = 256 << 20
	keptOfDeed = 1 << 30
)

// stored is one of the stores.
type stored struct {
	dir  string
	what deed // "": the session
}

func (f folder) deeds() string { return filepath.Join(f.dir, "changes") }

// stores lists the stores in the order in which they were made.
func (f folder) stores() ([]stored, error) {
	var all []stored
	if _, err := os.Lstat(f.Undo()); err == nil {
		all = append(all, stored{dir: f.Undo()})
	}
	entries, err := os.ReadDir(f.deeds()) // sorted
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	for _, e := range entries {
		_, what, _ := strings.Cut(e.Name(), "-")
		if !slices.Contains([]deed{deedApply, deedUndo, deedRedo}, deed(what)) {
			err = errors.Join(err, fmt.Errorf("%q is not a store of session %s", e.Name(), filepath.Base(f.dir)))
			continue
		}
		all = append(all, stored{filepath.Join(f.deeds(), e.Name()), deed(what)})
	}
	return all, err
}

// standing are the stores of what is on the host.
func standing(all []stored) (out []stored) {
	for _, s := range all {
		if s.what != deedUndo {
			out = append(out, s)
		}
	}
	return out
}

// undone are the stores of the undos since the last redo.
func undone(all []stored) (out []stored) {
	for _, s := range all {
		switch s.what {
		case deedUndo:
			out = append(out, s)
		case deedRedo:
			out = nil
		}
	}
	return out
}

// record makes the store of something that is about to be done.
func (f folder) record(what deed, all []Tree) (*undo.Store, string, error) {
	stores, err := f.stores()
	if err == nil {
		err = os.MkdirAll(f.deeds(), 0o700)
	}
	if err != nil {
		return nil, "", err
	}
	last := 0
	for _, s := range stores {
		if err := settled(s); err != nil {
			return nil, "", err
		}
		if s.what != "" {
			fmt.Sscanf(filepath.Base(s.dir), "%d-", &last)
		}
	}
	dir := filepath.Join(f.deeds(), fmt.Sprintf("%06d-%s", last+1, what))
	var trees []string
	for _, t := range all {
		trees = append(trees, t.Path)
	}
	store, err := undo.Create(dir, trees, undo.Limits{File: keptOfFile, Total: keptOfDeed})
	return store, dir, err
}

// settled notes what of a store that was killed never came to pass, before more is done.
func settled(s stored) error {
	log, err := undo.Open(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	if !log.End().IsZero() {
		return nil
	}
	return log.Settle()
}

// recorded ends a store. One in which nothing is goes.
func recorded(store *undo.Store, dir string) error {
	empty := store.Empty()
	if err := store.Close(); err != nil {
		return err
	}
	if empty {
		return os.RemoveAll(dir)
	}
	return nil
}

// history is what several stores have, the oldest first.
type history struct {
	logs  []*undo.Log
	owner map[Selected]*undo.Log // who knows what was at a path
}

// openLog opens what says which changes are on the host, or returns nil if nothing does.
func (w *Work) openLog() (*history, error) {
	all, err := w.stores()
	if err != nil {
		return nil, fmt.Errorf("what is live cannot be told: %w", err)
	}
	return w.openStores(standing(all), !w.Running())
}

// openStores opens stores. over says that the session is over, if it has ended or not.
func (w *Work) openStores(stores []stored, over bool) (*history, error) {
	h := &history{owner: map[Selected]*undo.Log{}}
	for _, s := range stores {
		log, err := undo.Open(s.dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			log.Looked = w.Looked
			h.logs = append(h.logs, log)
			if trees := log.Trees(); len(trees) != len(w.Trees) {
				err = fmt.Errorf("the store for undo has %d trees, not %d", len(trees), len(w.Trees))
			}
		}
		if err != nil {
			h.Close()
			return nil, fmt.Errorf("what is live cannot be told: %w", err)
		}
		if log.End().IsZero() && (s.what != "" || over) {
			log.EndedAt(w.seen(s))
		}
	}
	if len(h.logs) == 0 {
		return nil, nil
	}
	return h, nil
}

// slack is added to the last sign of life of what was killed: a record is written just
// before what it is about is done.
const slack = 2 * time.Second

// seen is when something that was killed was last seen at work. That is too early rather
// than too late: what changed later counts as somebody else's, and is left alone.
func (w *Work) seen(s stored) time.Time {
	last, names := w.Started, []string{s.dir + "/log"}
	if s.what == "" {
		if !w.Ended.IsZero() {
			return w.Ended
		}
		names = append(names, w.StandIns())
	}
	for _, name := range names {
		if st, err := os.Lstat(name); err == nil && st.ModTime().After(last) {
			last = st.ModTime()
		}
	}
	return last.Add(slack)
}

// Close gives the trees free.
func (h *history) Close() {
	if h == nil {
		return
	}
	for _, l := range h.logs {
		l.Close()
	}
}

// Changes is the difference between a tree before all of it and now. What several touched is
// one change, from what the first of them found.
func (h *history) Changes(n int) (out []change.Change, err error) {
	if h == nil {
		return nil, nil
	}
	if len(h.logs) == 1 { // as at the end of a session, which may have changed hundreds of thousands
		return h.logs[0].Changes(n)
	}
	for _, l := range h.logs {
		all, lerr := l.Changes(n)
		err = errors.Join(err, lerr)
		for _, c := range all {
			if h.owner[Selected{n, c.Path}] != nil {
				continue
			}
			h.owner[Selected{n, c.Path}] = l
			if c.From != "" {
				h.owner[Selected{n, c.From}] = l
			}
			out = append(out, c)
		}
	}
	slices.SortFunc(out, change.Compare)
	return out, err
}

// OpenOld opens a file as it was before.
func (h *history) OpenOld(tree int, rel string) (*os.File, error) {
	if l := h.owner[Selected{tree, rel}]; l != nil {
		return l.OpenOld(tree, rel)
	}
	return h.logs[0].OpenOld(tree, rel)
}

// Lost lists what is not kept.
func (h *history) Lost(tree int) (out []string) {
	for _, l := range h.logs {
		out = append(out, l.Lost(tree)...)
	}
	return out
}

// Undone says whether the last that was done was an undo: it can be undone.
func (f folder) Undone() bool {
	all, _ := f.stores()
	return len(undone(all)) > 0
}

// Changed is when the host was last changed for the session, undo left aside.
func (w *Work) Changed() time.Time {
	last := w.Started
	if !w.Ended.IsZero() {
		last = w.Ended
	}
	all, _ := w.stores()
	for _, s := range standing(all) {
		// Of one that was killed, its own store says how long it was at work.
		if st, err := os.Lstat(s.dir + "/log"); err == nil && (s.what != "" || w.Ended.IsZero()) && st.ModTime().After(last) {
			last = st.ModTime()
		}
	}
	return last
}

// Began is when the host was first changed for the session, or could be: where everything
// waits for review, that is when something of it was first applied.
func (w *Work) Began() time.Time {
	all, _ := w.stores()
	if !slices.ContainsFunc(w.Trees, func(t Tree) bool { return t.View == Live }) {
		for _, s := range all {
			if st, err := os.Lstat(s.dir + "/log"); err == nil && s.what != "" {
				return st.ModTime()
			}
		}
	}
	return w.Started
}
