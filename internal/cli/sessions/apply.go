package sessions

import (
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Apply brings to the host what a session changed and what waits.
func Apply() *command.Command {
	cmd := &command.Command{Name: "apply", Args: "[SESSION] [PATH...] [flags]", Short: "bring to the host what waits in a session",
		Long:     "Brings to the host what waits in a session: all of it, or what lies at or below the\npaths; of a move both names have to. What the host changed meanwhile is merged where\ntexts allow it, and is never overwritten: if one change cannot be brought over, none\nis, each that cannot is named, and the exit status is 1. `ringfence undo` takes back\nwhat was applied. Without a terminal --yes is needed.",
		Examples: []string{"ringfence apply --yes"},
		Takes:    command.Many}
	f := &cmd.Flags
	yes := f.Bool("yes", false, "do not ask")
	partial := f.Bool("partial", false, "apply the rest where some changes cannot be applied")
	verbose := f.Bool("verbose", false, "print what became of each path, not only of the first ten")
	asJSON := f.Bool("json", false, "print what became of each path as JSON; needs --yes")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		return settle(c, cmd.Name, args, *yes, *asJSON, question, func(ch *chosen, r *review.Report, book *afterwards) (int, error) {
			done := stepping(c, "applying", ch, len(r.Entries))
			out, err := ch.work.Apply(ch.sel, ch.report, *partial)
			done()
			book.outcomes(journal.Applied, out)
			status, err := tell(c, ch.work, out, told{*asJSON, *verbose}, err)
			if status == 1 && err == nil && !*partial && !anyDone(out) {
				c.Say("nothing was applied; --partial applies the rest")
			}
			return status, err
		})
	}
	return cmd
}

// settle asks about what waits in a session, and does it. Sessions that run are left
// alone.
func settle(c *command.Console, name string, args []string, yes, asJSON bool, question func(*review.Report) string, do func(*chosen, *review.Report, *afterwards) (int, error)) (int, error) {
	if err := mustAsk(c, name, yes, asJSON); err != nil {
		return 2, err
	}
	ch, err := choose(c, args, func(ch *chosen) bool { return !ch.work.Running() && ch.waits() })
	if err != nil {
		return 2, err
	}
	if ch.work.Running() {
		return 2, fault.New(fault.Refused, "ringfence stop "+ch.work.ID, "session %s still runs", ch.work.ID)
	}
	if ch.failed != nil {
		c.Warn(ch.failed.Error())
	}
	r := ch.part()
	r.Entries = r.Waiting()
	if len(r.Entries) == 0 {
		return nothing(c, ch, "waits", asJSON)
	}
	if !yes {
		printRanked(c.Err, r)
		if !c.Confirm("\n"+question(r), false) {
			return 1, nil
		}
	}
	sayWho(c, name, ch.work, len(r.Entries))
	return do(ch, r, reopen(c, ch.work, name, len(r.Entries)))
}

func question(r *review.Report) string {
	unasked := 0
	for _, e := range r.Entries {
		if e.Rank == hostexec.Unasked {
			unasked++
		}
	}
	q := fmt.Sprintf("Bring %d change(s) to the host", len(r.Entries))
	switch unasked {
	case 0:
		return q + "?"
	case 1:
		return q + ", one of which runs without anyone asking?"
	}
	return q + fmt.Sprintf(", %d of which run without anyone asking?", unasked)
}

// nothing says that there is nothing to do.
func nothing(c *command.Console, ch *chosen, what string, asJSON bool) (int, error) {
	if ch.failed != nil {
		return 2, ch.failed
	}
	if asJSON {
		return tell(c, ch.work, nil, told{json: true}, nil)
	}
	c.Say("nothing of session %s %s", ch.work.ID, what)
	return 0, nil
}

// mustAsk refuses a command that nobody could be asked about.
func mustAsk(c *command.Console, name string, yes, asJSON bool) error {
	if yes || !asJSON && c.Person() {
		return nil
	}
	return fault.New(fault.Usage, "look with `ringfence diff`, then give --yes", "%s asks before it changes anything, and there is nobody to ask", name)
}
