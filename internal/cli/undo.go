package cli

import (
	"fmt"

	"ringfence.dev/ringfence/internal/journal"
)

// undo brings back what was on the host before a session.
func undo(c *context, name string, args []string) (int, error) {
	f := c.flags(name, "[SESSION] [PATH...] [flags]", "Brings back on the host what a session changed or deleted, and removes what it made:\nall of it, or what lies at or below the paths. What somebody changed after the\nsession is left alone, and the exit status is 1 then.\n\nKept are files of up to 256 MiB each and 1 GiB in one session ([workspace] undo-file and\nundo), and 4 GiB of all sessions (undo-total): beyond that the oldest session can no\nlonger be undone. What is not kept is said when it changes, and at the end.")
	yes := f.Bool("yes", false, "do not ask")
	force := f.Bool("force", false, "also what was changed after the session")
	asJSON := f.Bool("json", false, "print what became of each path as JSON; needs --yes")
	ch, err := c.chooseToChange(f, args, yes, asJSON, (*chosen).live)
	if err != nil {
		return 2, err
	}
	r := ch.part()
	r.Entries = r.Live()
	if len(r.Entries) == 0 {
		return c.nothing(ch, "is live: there is nothing to undo", *asJSON)
	}
	if !*yes {
		c.printRanked(c.err, r)
		for _, lost := range r.Lost {
			fmt.Fprintf(c.err, "ringfence: cannot be undone: %s\n", inert(lost))
		}
		if !c.confirm(fmt.Sprintf("\nUndo %d change(s)?", len(r.Entries)), false) {
			return 1, nil
		}
	}
	book := c.reopen(ch.work, name, len(r.Entries))
	done := c.stepping("undoing", ch, len(r.Entries))
	out, err := ch.work.UndoAll(ch.sel, *force)
	done()
	book.outcomes(journal.Undone, out)
	return c.tell(ch.work, out, *asJSON, err)
}
