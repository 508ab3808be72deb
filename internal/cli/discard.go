package cli

import (
	"flag"
	"fmt"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// discard forgets what a session changed and what waits.
func discard(c *context, name string, args []string) (int, error) {
	f := c.flags(name, "[SESSION] [PATH...] [flags]", "Forgets what waits in a session: all of it, or what lies at or below the paths. The\nhost is not touched. Without a terminal --yes is needed.")
	yes := f.Bool("yes", false, "do not ask")
	verbose := f.Bool("verbose", false, "print each path, not only the first ten")
	asJSON := f.Bool("json", false, "print each path as JSON; needs --yes")
	ch, err := c.chooseToChange(f, args, yes, asJSON, (*chosen).waits)
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
	c.sayWho(name, ch.work, len(r.Entries))
	book := c.reopen(ch.work, name, len(r.Entries))
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

// chooseToChange is choose for commands that change something. Sessions that run
// are left alone.
func (c *context) chooseToChange(f *flag.FlagSet, args []string, yes, asJSON *bool, has func(*chosen) bool) (*chosen, error) {
	rest, err := c.mixed(f, args)
	if err != nil {
		return nil, err
	}
	if err := c.mustAsk(f.Name(), *yes, *asJSON); err != nil {
		return nil, err
	}
	ch, err := c.choose(rest, func(ch *chosen) bool { return !ch.work.Running() && has(ch) })
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
