package review

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"

	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/keeper"
)

// State says where a change is.
type State string

// The states.
const (
	Waits  State = "waits" // only in the session's layer
	OnHost State = "live"  // on the host already
)

// Entry is one change with what the host would make of it.
type Entry struct {
	Tree int
	change.Change
	State    State
	Rank     hostexec.Rank
	Findings []hostexec.Finding
	Text     string // one line why, for people; "" where there is nothing to say
	Masked   bool   // never written back
	own      bool   // git's own data
}

// Report is the review of a session.
type Report struct {
	Work    *Work
	Entries []Entry  // by rank, git's own data last, then tree, then path
	Lost    []string // what cannot be undone: quoted paths, with why
	Notes   []string // what else a person should know
	Outside Outside  // what was written where nothing is kept; only at the end of a session
}

// Review lists every difference that the session made, ranked. It only reads, and
// may run while the session does. What could be read is in the report even if
// there is an error: what is wrong with one tree hides nothing of the others, and
// what is not ranked stands as if it ran unasked.
func (w *Work) Review() (*Report, error) {
	r := &Report{Work: w}
	running := w.Running()
	if err := w.tidy(running); err != nil {
		r.Notes = append(r.Notes, err.Error())
	}
	if !running && w.Ended.IsZero() { // it was killed
		if err := w.OfferClone(); err != nil {
			r.Notes = append(r.Notes, err.Error())
		}
	}
	log, failed := w.openLog()
	if log != nil {
		defer log.Close()
	}
	lists := make([]lists, len(w.Trees))
	for n := range w.Trees {
		waiting, err := w.tree(n).waiting()
		failed = errors.Join(failed, err)
		live, err := log.Changes(n)
		failed = errors.Join(failed, err)
		waiting, live = withoutStandIns(waiting, live)
		r.add(n, Waits, waiting)
		r.add(n, OnHost, live)
		r.lose(log, n)
		lists[n].waits, lists[n].live = waiting, live
	}
	j, err := newJudge(w, log)
	if err != nil {
		return r, errors.Join(failed, err)
	}
	defer j.close()
	j.rankAll(r.Entries, lists)
	if !slices.IsSortedFunc(r.Entries, inOrder) { // as most are that have hundreds of thousands
		slices.SortStableFunc(r.Entries, inOrder)
	}
	r.Notes = append(append(append(r.Notes, j.notes...), j.staged(r.Entries)...), j.followed()...)
	r.note(running)
	return r, failed
}

// inOrder compares by rank, git's own data last, then by place: a commit has a hundred
// objects, and the file that was deleted must not stand behind them.
func inOrder(a, b Entry) int {
	switch {
	case a.Rank != b.Rank:
		return cmp.Compare(a.Rank, b.Rank)
	case a.own && !b.own:
		return 1
	case b.own && !a.own:
		return -1
	case a.Tree != b.Tree:
		return cmp.Compare(a.Tree, b.Tree)
	}
	if c := cmp.Compare(a.Path, b.Path); c != 0 {
		return c
	}
	return cmp.Compare(a.State, b.State)
}

func (r *Report) add(tree int, state State, changes []change.Change) {
	r.Entries = slices.Grow(r.Entries, len(changes))
	for _, c := range changes {
		r.Entries = append(r.Entries, Entry{Tree: tree, Change: c, State: state, Masked: r.Work.Trees[tree].masked(c)})
	}
}

func (r *Report) lose(log *history, tree int) {
	if log == nil {
		return
	}
	for _, lost := range log.Lost(tree) {
		if len(r.Work.Trees) > 1 {
			lost = "in " + strconv.Quote(r.Work.Trees[tree].Path) + ", " + lost
		}
		r.Lost = append(r.Lost, lost)
	}
}

func (r *Report) note(running bool) {
	switch {
	case r.Work.lock != nil: // it is the session itself that asks
	case running:
		r.Notes = append(r.Notes, "the session still runs: more may follow")
	case r.Work.Ended.IsZero():
		r.Notes = append(r.Notes, "the session was killed: what it changed last may count as changed by somebody else")
	}
}

// Waiting returns the entries that are not on the host.
func (r *Report) Waiting() []Entry { return r.in(Waits) }

// Live returns the entries that are on the host.
func (r *Report) Live() []Entry { return r.in(OnHost) }

// in copies nothing where all are alike, as they are after most large sessions.
func (r *Report) in(state State) []Entry {
	n := 0
	for i := range r.Entries {
		if r.Entries[i].State == state {
			n++
		}
	}
	if n == len(r.Entries) {
		return r.Entries
	}
	out := make([]Entry, 0, n)
	for i := range r.Entries {
		if r.Entries[i].State == state {
			out = append(out, r.Entries[i])
		}
	}
	return out
}

// tidy takes the stand-ins of a killed session off the host.
func (w *Work) tidy(running bool) error {
	if _, err := os.Lstat(w.StandIns()); err != nil || running {
		return nil
	}
	release, err := w.Seize()
	if err != nil {
		return err
	}
	release()
	return nil
}

// waiting returns what the layer of a tree has. In the live view the layer holds
// single paths; the directories above them are the host's, whatever mode they had
// when the layer first saw them.
func (t treeWork) waiting() ([]change.Change, error) {
	all, err := t.layer().Changes()
	all = slices.DeleteFunc(all, t.phantom)
	if err != nil || t.View != Live {
		return all, err
	}
	return slices.DeleteFunc(all, staleDirectory), nil
}

// staleDirectory holds for a directory of both sides.
func staleDirectory(c change.Change) bool {
	return c.Old != nil && c.New != nil && c.Old.Type == change.Directory && c.New.Type == change.Directory
}

// withoutStandIns leaves out what stands on the host for held names while a session
// runs: links that lead nowhere, each under the name of something that waits.
func withoutStandIns(waiting, live []change.Change) (w, l []change.Change) {
	held := map[string]bool{}
	for i, c := range waiting {
		held[c.Path] = true
		if standsIn(c.Old) {
			waiting[i].Old = nil
		}
	}
	live = slices.DeleteFunc(live, func(c change.Change) bool {
		return held[c.Path] && c.Old == nil && standsIn(c.New)
	})
	return waiting, live
}

func standsIn(n *change.Node) bool {
	return n != nil && n.Type == change.Symlink && n.Link == keeper.Nowhere
}

// masked says whether a change is about a file that the session saw with other
// values in it.
func (t *Tree) masked(c change.Change) bool {
	return slices.ContainsFunc(t.Masked, func(m string) bool {
		return below(c.Path, m) || c.From != "" && below(c.From, m)
	})
}

// Only returns the part of a report that sel names.
func (r *Report) Only(sel []Selected) *Report {
	out := *r
	out.Entries = nil
	for _, e := range r.Entries {
		if selects(sel, e.Tree, e.Change) {
			out.Entries = append(out.Entries, e)
		}
	}
	return &out
}
