package sessions

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/review"
)

const undoHelp = `Brings back on the host what a session changed or deleted, or what was applied of it,
and removes what it made: all of it, or what lies at or below the paths. Without SESSION
it is the latest here, and never an older one. What somebody changed since is named and
left alone, and the exit status is 1 then. Git's objects stay: refs, HEAD and the index
go back where they still are what the session left. A newer session that changed the same
files must be undone first; of what another changed at the same time nothing is taken back
without --force. --redo takes the last undo back. Without a terminal --yes is needed.

Kept are files of up to 256 MiB each and 1 GiB in one session ([workspace] undo-file and
undo), and 4 GiB of all sessions (undo-total): beyond that the oldest session can no
longer be undone. What is not kept is said when it changes, and at the end.`

// Undo brings back what was on the host before a session.
func Undo() *command.Command {
	cmd := &command.Command{Name: "undo", Args: "[SESSION] [PATH...] [flags]", Short: "bring back what a session changed or deleted on the host",
		Long:     undoHelp,
		Examples: []string{"ringfence undo readme --yes"},
		Takes:    command.Many}
	f := &cmd.Flags
	yes := f.Bool("yes", false, "do not ask")
	force := f.Bool("force", false, "also what was changed after the session")
	redo := f.Bool("redo", false, "undo the last undo: bring the session's changes back")
	verbose := f.Bool("verbose", false, "print what became of each path, not only of the first ten")
	asJSON := f.Bool("json", false, "print what became of each path as JSON; needs --yes")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if err := mustAsk(c, cmd.Name, *yes, *asJSON); err != nil {
			return 2, err
		}
		ch, works, err := chooseToUndo(c, args, *redo)
		if err != nil {
			return 2, err
		}
		if *redo {
			return redoLast(c, ch, cmd.Name, *yes, *force, told{*asJSON, *verbose})
		}
		r := ch.part()
		if r.Entries = r.Live(); len(r.Entries) == 0 {
			return nothing(c, ch, "is live: there is nothing to undo", *asJSON)
		}
		if err := notPast(ch.work, r, works, *force); err != nil {
			return 2, err
		}
		sayWho(c, cmd.Name, ch.work, len(r.Entries))
		if !*yes {
			printRanked(c.Err, r)
			for _, lost := range r.Lost {
				c.Say("cannot be undone: %s", lost)
			}
			if !c.Confirm(fmt.Sprintf("\nUndo %d change(s)?", len(r.Entries)), false) {
				return 1, nil
			}
		}
		book := reopen(c, ch.work, cmd.Name, len(r.Entries))
		done := stepping(c, "undoing", ch, len(r.Entries))
		out, err := ch.work.UndoAll(ch.sel, *force)
		done()
		book.outcomes(journal.Undone, out)
		status, err := tell(c, ch.work, out, told{*asJSON, *verbose}, err)
		if ch.work.Undone() {
			c.Say("ringfence undo --redo %s takes this back", ch.work.ID)
		}
		return status, err
	}
	return cmd
}

// redoLast takes the last undo back.
func redoLast(c *command.Console, ch *chosen, name string, yes, force bool, how told) (int, error) {
	c.Say("undo of an undo: %s", who(ch.work))
	if !yes && !c.Confirm("Bring the changes of the session back?", false) {
		return 1, nil
	}
	book := reopen(c, ch.work, name+" --redo", 1)
	out, err := ch.work.Redo(nil, force)
	book.outcomes(journal.Undone, out)
	return tell(c, ch.work, out, how, err)
}

// chooseToUndo finds the session. Without its name it is the latest here that left
// anything, or none: an older one is never taken for it.
func chooseToUndo(c *command.Console, args []string, redo bool) (*chosen, []*review.Work, error) {
	m, err := mean(c, args)
	if err != nil {
		return nil, nil, err
	}
	ch := &chosen{work: m.work}
	if ch.work == nil {
		if ch, err = latestToUndo(m.works, m.here, redo); err != nil {
			return nil, nil, err
		}
	}
	switch {
	case ch.work.Running():
		return nil, nil, fault.New(fault.Refused, "ringfence stop "+ch.work.ID, "session %s still runs", ch.work.ID)
	case ch.work.Dropped():
		return nil, nil, droppedFault(ch.work, "")
	case redo && !ch.work.Undone():
		return nil, nil, fault.New(fault.Refused, "", "nothing of %s was undone of late", who(ch.work))
	case redo && len(m.paths) > 0:
		return nil, nil, fault.New(fault.Usage, "", "--redo takes no paths: it takes the last undo back as a whole")
	}
	err = ch.only(m)
	if ch.failed != nil {
		c.Warn(ch.failed.Error())
	}
	return ch, m.works, err
}

// latestToUndo returns the latest session here, if it can be undone.
func latestToUndo(works []*review.Work, here string, redo bool) (*chosen, error) {
	works = slices.Clone(works)
	slices.SortStableFunc(works, func(a, b *review.Work) int { return b.Changed().Compare(a.Changed()) })
	for _, w := range works {
		if !concerns(w, here) {
			continue
		}
		ch := &chosen{work: w}
		const other = "name the session that is meant: ringfence ps -a lists them"
		switch {
		case w.Running() || redo && w.Undone() || !redo && ch.live():
			return ch, nil
		case w.Undone():
			return nil, fault.New(fault.Failed, "ringfence undo --redo "+w.ID+" brings its changes back; or "+other, "%s, the latest here, is undone", who(w))
		case ch.waits():
			return nil, fault.New(fault.Failed, "ringfence discard forgets them; or "+other, "%s, the latest here, has nothing on the host: its changes wait", who(w))
		case redo:
			return nil, fault.New(fault.Failed, other, "%s, the latest here, was not undone", who(w))
		case w.Dropped():
			return nil, droppedFault(w, other)
		}
	}
	return nil, fault.New(fault.Failed, "", "no session has left anything to undo in %s", plan.Show(here))
}

// droppedFault is for a session whose undo made room for others.
func droppedFault(w *review.Work, hint string) error {
	return fault.New(fault.Failed, hint, "%s can no longer be undone: what it kept was dropped, to stay within [workspace] undo-total", who(w))
}

// notPast refuses to undo what another session has changed since, or at the same time:
// what both changed cannot be told apart by who did it. force takes the latter back too.
func notPast(w *review.Work, r *review.Report, works []*review.Work, force bool) error {
	mine := changedFiles(r)
	for _, other := range works {
		newer := other.Changed().After(w.Changed())
		if other.ID == w.ID || !newer && (force || !other.Running() && !other.Changed().After(w.Began())) {
			continue
		}
		theirs, _ := other.Review() // what could be read counts
		var both []string
		for path := range changedFiles(theirs) {
			if mine[path] {
				both = append(both, path)
			}
		}
		if len(both) == 0 {
			continue
		}
		slices.Sort(both)
		more := ""
		if len(both) > 3 {
			more, both = fmt.Sprintf(" and %d more", len(both)-3), both[:3]
		}
		for i := range both {
			both[i] = plan.Show(both[i])
		}
		files := strings.Join(both, ", ") + more
		if !newer {
			return fault.New(fault.Refused, "name other paths; --force takes back what both did there",
				"%s changed the same files as session %s, at the same time or since: %s", who(other), w.ID, files)
		}
		return fault.New(fault.Refused, "ringfence undo "+other.ID+" first", "%s is newer than session %s and changed the same files: %s", who(other), w.ID, files)
	}
	return nil
}

// changedFiles lists what is live of a report: no directories, which have nothing of their
// own, and no objects of git, which stay.
func changedFiles(r *review.Report) map[string]bool {
	all := map[string]bool{}
	for _, e := range r.Live() {
		dir := (e.New == nil || e.New.Type == change.Directory) && (e.Old == nil || e.Old.Type == change.Directory)
		if dir || strings.Contains("/"+e.Path, "/.git/objects/") {
			continue
		}
		for _, p := range []string{e.Path, e.From} {
			if p != "" {
				all[r.Work.Trees[e.Tree].Path+"/"+p] = true
			}
		}
	}
	return all
}
