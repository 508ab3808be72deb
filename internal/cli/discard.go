package cli

import (
	"fmt"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// discard forgets what a session changed and what waits.
func discardCommand() *command {
	cmd := &command{name: "discard", args: "[SESSION] [PATH...] [flags]", short: "forget what waits in a session",
		long:     "Forgets what waits in a session: all of it, or what lies at or below the paths. The\nhost is not touched. Without a terminal --yes is needed.",
		examples: []string{"ringfence discard --yes"},
		takes:    takesMany}
	f := &cmd.flags
	yes := f.Bool("yes", false, "do not ask")
	verbose := f.Bool("verbose", false, "print each path, not only the first ten")
	asJSON := f.Bool("json", false, "print each path as JSON; needs --yes")
	cmd.run = func(c *console, args []string) (int, error) {
		ch, err := c.chooseToChange(cmd.name, args, yes, asJSON, (*chosen).waits)
		if err != nil {
			return 2, err
		}
		r := ch.part()
		r.Entries = r.Waiting()
		if len(r.Entries) == 0 {
			return c.nothing(ch, "waits", *asJSON)
		}
		if !*yes {
			c.printRanked(c.err, r)
			if !c.confirm(fmt.Sprintf("\nForget %d change(s) for good?", len(r.Entries)), false) {
				return 1, nil
			}
		}
		c.sayWho(cmd.name, ch.work, len(r.Entries))
		book := c.reopen(ch.work, cmd.name, len(r.Entries))
		if err := ch.work.Discard(ch.sel); err != nil {
			book.close()
			return 1, err
		}
		book.entries(journal.Discarded, r.Entries)
		var out []review.Outcome
		for _, e := range r.Entries {
			out = append(out, review.Outcome{Tree: e.Tree, Path: e.Path, Result: "discarded"})
		}
		status, err := c.tell(ch.work, out, told{*asJSON, *verbose}, nil)
		fmt.Fprintf(c.err, "ringfence: %s\n", counted(len(r.Entries), "discarded", "discarded"))
		return status, err
	}
	return cmd
}

// chooseToChange is choose for commands that change something. Sessions that run
// are left alone.
func (c *console) chooseToChange(name string, args []string, yes, asJSON *bool, has func(*chosen) bool) (*chosen, error) {
	if err := c.mustAsk(name, *yes, *asJSON); err != nil {
		return nil, err
	}
	ch, err := c.choose(args, func(ch *chosen) bool { return !ch.work.Running() && has(ch) })
	if err != nil {
		return nil, err
	}
	if ch.work.Running() {
		return nil, fault.New(fault.Refused, "ringfence stop "+ch.work.ID, "session %s still runs", ch.work.ID)
	}
	if ch.failed != nil {
		fmt.Fprintf(c.err, "ringfence: warning: %s\n", inert(ch.failed.Error()))
	}
	return ch, nil
}
