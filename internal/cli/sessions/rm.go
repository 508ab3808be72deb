package sessions

import (
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// RM forgets a session: what waits in it, and what could be undone.
func RM() *command.Command {
	cmd := &command.Command{Name: "rm", Args: "SESSION [--discard]", Short: "forget a session and what could be undone of it",
		Long:     "Forgets what is kept of a session: afterwards nothing of it can be undone. While\nchanges wait in it, it stays, unless --discard says that they are not wanted.",
		Examples: []string{"ringfence rm old --discard"},
		Takes:    command.Many}
	discard := cmd.Flags.Bool("discard", false, "also changes that wait for review")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if len(args) != 1 {
			return 2, fault.New(fault.Usage, "`ringfence diff` shows the latest session", "rm takes one session")
		}
		w, err := findWork(c, args[0])
		if err != nil {
			return 1, err
		}
		if err := forget(c, cmd.Name, w, *discard); err != nil {
			return 1, err
		}
		c.Say("removed what was kept of session %s", w.ID)
		return 0, nil
	}
	return cmd
}

// forget removes the work of a session that is over. What waits holds it.
func forget(c *command.Console, name string, w *review.Work, discard bool) error {
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
		take := "ringfence apply " + w.ID
		if w.Source != "" {
			take = fmt.Sprintf("git fetch %s and git branch NAME %[1]s/%s", w.ID, w.Branch())
		}
		if w.Elsewhere() {
			take = "ringfence attach " + w.ID
		}
		return fault.New(fault.Refused, fmt.Sprintf("%s, or ringfence rm %s --discard", take, w.ID), "changes wait in session %s", w.ID)
	}
	if n, err := w.Uncommitted(); !discard && (n > 0 || err != nil) {
		return fault.New(fault.Refused, fmt.Sprintf("copy what you need from %s, or ringfence rm %s --discard", plan.Show(w.CloneDir()), w.ID),
			"%s not committed in the clone of session %s", plainCount(n, "file is", "files are"), w.ID)
	}
	if waits {
		reopen(c, w, name, 0).entries(journal.Discarded, waitingIn(w))
	}
	if err := w.Remove(); err != nil {
		return err
	}
	if dirs, err := c.Dirs(); err == nil {
		// Without this `ps -a` goes on to tell of its record, and nothing else is lost.
		_ = journal.Append(dirs.Journal(), w.ID, journal.Record{Kind: journal.Work, Event: journal.Forgotten})
	}
	return nil
}
