package cli

import (
	"fmt"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// remove forgets a session: what waits in it, and what could be undone.
func rmCommand() *command {
	cmd := &command{name: "rm", args: "SESSION [--discard]", short: "forget a session and what could be undone of it",
		long:     "Forgets what is kept of a session: afterwards nothing of it can be undone. While\nchanges wait in it, it stays, unless --discard says that they are not wanted.",
		examples: []string{"ringfence rm old --discard"},
		takes:    takesMany}
	f := &cmd.flags
	discard := f.Bool("discard", false, "also changes that wait for review")
	cmd.run = func(c *console, args []string) (int, error) {
		if len(args) != 1 {
			return 2, fault.New(fault.Usage, "`ringfence diff` shows the latest session", "rm takes one session")
		}
		w, err := c.findWork(args[0])
		if err != nil {
			return 1, err
		}
		return c.removeWork(w, *discard)
	}
	return cmd
}

func (c *console) removeWork(w *review.Work, discard bool) (int, error) {
	if err := c.forget("rm", w, discard); err != nil {
		return 1, err
	}
	fmt.Fprintf(c.err, "ringfence: removed what was kept of session %s\n", w.ID)
	return 0, nil
}

// forget removes the work of a session that is over. What waits holds it.
func (c *console) forget(name string, w *review.Work, discard bool) error {
	if w.Running() {
		return fault.New(fault.Refused, "ringfence stop "+w.ID, "session %s still runs", w.ID)
	}
	release, err := w.Seize()
	if err != nil {
		return err
	}
	defer release()
	waits, err := w.Waits()
	if !discard && err != nil {
		return fault.New(fault.Failed, "--discard removes it all the same", "whether changes wait in session %s is not known: %w", w.ID, err)
	}
	if waits && !discard {
		return fault.New(fault.Refused, fmt.Sprintf("ringfence apply %s, or ringfence rm %s --discard", w.ID, w.ID), "changes wait in session %s", w.ID)
	}
	if waits {
		c.reopen(w, name, 0).entries(journal.Discarded, waitingIn(w))
	}
	return w.Remove()
}
