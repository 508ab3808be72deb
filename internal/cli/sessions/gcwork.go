package sessions

import (
	"errors"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// keepUndo is how long what a session overwrote is kept if nobody says otherwise.
const keepUndo = 14 * 24 * time.Hour

// oldWork is what a session left that ended long ago.
type oldWork struct {
	work *review.Work
	last time.Time
	why  string
	kept bool // changes wait in it
	over bool // it is not old: only what it keeps for undo goes, to make room
}

// oldWorks lists the work of sessions that ended before the given age. Where
// changes wait it is kept, unless they are to be discarded.
func oldWorks(c *command.Console, now time.Time, age time.Duration, discard bool) ([]oldWork, error) {
	if age == 0 {
		age = keepUndo
	}
	works, err := works(c)
	over, oerr := excess(c)
	err = errors.Join(err, oerr)
	var out []oldWork
	for _, w := range works {
		o := oldWork{work: w, last: w.Ended, why: "undo only"}
		if o.last.IsZero() {
			o.last = w.Started
		}
		if t := w.Changed(); t.After(o.last) { // something was applied or brought back later
			o.last = t
		}
		young := now.Sub(o.last) < age
		if over[w.ID] {
			o.why, o.over = "over the total for undo", young
		} else if young || w.Running() {
			continue
		}
		if (&chosen{work: w}).waits() {
			o.why, o.kept = "changes wait", !discard
		}
		out = append(out, o)
	}
	return out, err
}

// excess are the sessions whose undo has to make room.
func excess(c *command.Console) (map[string]bool, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil, err
	}
	total, err := undoTotal(c.Environ)
	if err != nil || total == 0 {
		return nil, err
	}
	over, _, err := review.Excess(dirs.State, total)
	out := map[string]bool{}
	for _, o := range over {
		out[o.Work.ID] = true
	}
	return out, err
}

func (o *oldWork) row() map[string]any {
	return map[string]any{"session": o.work.ID, "root": plan.Raw(o.work.Project), "why": o.why, "last_used": o.last, "kept": o.kept}
}

// removable leaves out what stays.
func removable(old []oldWork) (out []oldWork) {
	for _, o := range old {
		if !o.kept {
			out = append(out, o)
		}
	}
	return out
}

// undoTotal is how much all sessions may save for undo, by the user's own policy.
func undoTotal(environ []string) (int64, error) {
	p, err := launch.Who(launch.Options{Environ: environ})
	if err != nil {
		return 0, err
	}
	pol, err := p.OwnPolicy(nil)
	if err != nil {
		return 0, err
	}
	return pol.Workspace.UndoTotal.Number(), nil
}
