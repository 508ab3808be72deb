package cli

import (
	"fmt"
	"maps"
	"slices"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// uninstall takes back what install made.
func uninstallCommand() *command {
	cmd := &command{name: "uninstall", args: "AGENT | all [flags]", short: "take back what install made",
		long: "Takes the shadows of an agent away and puts back what they kept. With --managed, takes\n" +
			"the gate out of the settings of all users instead. Nothing of it is left.",
		examples: []string{"ringfence uninstall claude"},
		takes:    takesOne}
	f := &cmd.flags
	gate := f.Bool("managed", false, "as root: take the gate away, and leave the shadows")
	cmd.run = func(c *console, args []string) (int, error) {
		agent := first(args)
		if *gate {
			return c.uninstallManaged()
		}
		if agent == "" {
			return 2, fault.New(fault.Usage, "for example: ringfence uninstall claude", "uninstall needs an agent, or all")
		}
		if agent == "all" {
			agent = ""
		}
		return c.uninstall(agent)
	}
	return cmd
}

func (c *console) uninstall(agent string) (int, error) {
	store, err := c.store()
	if err != nil {
		return 2, err
	}
	done, err := store.Uninstall(agent)
	for _, at := range slices.Sorted(maps.Keys(done)) {
		fmt.Fprintf(c.out, "%s is no longer a shadow\n", plan.Show(at))
		if done[at].Kept != "" {
			fmt.Fprintf(c.out, "  what stood there before is back\n")
		}
		if left := done[at].Left; left != "" {
			fmt.Fprintf(c.err, "ringfence: warning: %s was left: it stood there before, and now something else does\n", plan.Show(left))
		}
	}
	if err != nil {
		return 1, err
	}
	if len(done) == 0 {
		fmt.Fprintln(c.err, "ringfence: there was nothing to take back")
		return 0, nil
	}
	fmt.Fprintln(c.err, "ringfence: in shells that are open: hash -r")
	return 0, nil
}
