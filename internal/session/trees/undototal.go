package trees

import (
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// keepTotal makes room for a new session: what older ones keep for undo goes, the
// oldest first, until all of it together is within the total.
func (k *Changes) keepTotal() {
	total := k.Policy.Workspace.UndoTotal
	if total == nil {
		return
	}
	over, left, err := review.Excess(k.Dirs.State, total.Value)
	if err != nil {
		k.run.Tell(fmt.Sprintf("what is kept for undo: %v", err))
	}
	var gone, ids []string
	for _, o := range over {
		if err := o.Work.DropUndo(); err != nil {
			k.run.Tell(fmt.Sprintf("what session %s keeps for undo cannot be dropped: %v", o.Work.ID, err))
			continue
		}
		gone, ids = append(gone, fmt.Sprintf("%s of %s (%s)", o.Work.ID, o.Work.Started.Local().Format("2006-01-02"), plan.Size(o.Bytes))), append(ids, o.Work.ID)
	}
	if len(gone) > 0 {
		k.run.Tell(fmt.Sprintf("no longer kept for undo, to stay within %s in all ([workspace] undo-total): %s", plan.Size(total.Value), strings.Join(gone, ", ")))
		k.run.Record(journal.Split(journal.Record{Kind: journal.Work, Event: journal.Dropped}, ids)...)
	}
	if left > total.Value {
		k.run.Tell(fmt.Sprintf("sessions that run or wait for review keep %s for undo, more than the %s of [workspace] undo-total: apply or discard them", plan.Size(left), plan.Size(total.Value)))
	}
}

// toldLosses bounds what an agent can make us say while it runs; the summary has all.
const toldLosses = 3

// losses tells of files that cannot be brought back, when they are about to change.
type losses struct {
	keep *Changes
	n    atomic.Int64
}

// tell is called by the store, which waits for it: the words are said by another.
func (t *losses) tell(tree int, rel, why string) {
	text, n := "undo will not bring back more files; the summary lists them", t.n.Add(1)
	if n > toldLosses+1 {
		return
	}
	if n <= toldLosses {
		text = "undo will not bring back " + plan.Show(filepath.Join(t.keep.Work.Trees[tree].Path, rel)) + ": " + why
	}
	t.keep.looks.Go(func() { t.keep.run.Warn(text) })
}
