package sessions

import (
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Discard forgets what a session changed and what waits.
func Discard() *command.Command {
	cmd := &command.Command{Name: "discard", Args: "[SESSION] [PATH...] [flags]", Short: "forget what waits in a session",
		Long:     "Forgets what waits in a session: all of it, or what lies at or below the paths. The\nhost is not touched. Without a terminal --yes is needed.",
		Examples: []string{"ringfence discard --yes"},
		Takes:    command.Many}
	f := &cmd.Flags
	yes := f.Bool("yes", false, "do not ask")
	verbose := f.Bool("verbose", false, "print each path, not only the first ten")
	asJSON := f.Bool("json", false, "print each path as JSON; needs --yes")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		ch, err := chooseToChange(c, cmd.Name, args, yes, asJSON, (*chosen).waits)
		if err != nil {
			return 2, err
		}
		r := ch.part()
		r.Entries = r.Waiting()
		if len(r.Entries) == 0 {
			return nothing(c, ch, "waits", *asJSON)
		}
		if !*yes {
			printRanked(c.Err, r)
			if !c.Confirm(fmt.Sprintf("\nForget %d change(s) for good?", len(r.Entries)), false) {
				return 1, nil
			}
		}
		sayWho(c, cmd.Name, ch.work, len(r.Entries))
		book := reopen(c, ch.work, cmd.Name, len(r.Entries))
		if err := ch.work.Discard(ch.sel); err != nil {
			book.close()
			return 1, err
		}
		book.entries(journal.Discarded, r.Entries)
		var out []review.Outcome
		for _, e := range r.Entries {
			out = append(out, review.Outcome{Tree: e.Tree, Path: e.Path, Result: "discarded"})
		}
		status, err := tell(c, ch.work, out, told{*asJSON, *verbose}, nil)
		c.Say("%s", counted(len(r.Entries), "discarded", "discarded"))
		return status, err
	}
	return cmd
}

// chooseToChange is choose for commands that change something. Sessions that run
// are left alone.
func chooseToChange(c *command.Console, name string, args []string, yes, asJSON *bool, has func(*chosen) bool) (*chosen, error) {
	if err := mustAsk(c, name, *yes, *asJSON); err != nil {
		return nil, err
	}
	ch, err := choose(c, args, func(ch *chosen) bool { return !ch.work.Running() && has(ch) })
	if err != nil {
		return nil, err
	}
	if ch.work.Running() {
		return nil, fault.New(fault.Refused, "ringfence stop "+ch.work.ID, "session %s still runs", ch.work.ID)
	}
	if ch.failed != nil {
		c.Warn(ch.failed.Error())
	}
	return ch, nil
}
