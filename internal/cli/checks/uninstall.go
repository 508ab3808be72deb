package checks

import (
	"fmt"
	"maps"
	"slices"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Uninstall takes back what install made.
func Uninstall() *command.Command {
	cmd := &command.Command{Name: "uninstall", Args: "AGENT | all [flags]", Short: "take back what install made",
		Long: "Takes the shadows of an agent away and puts back what they kept. With --managed, takes\n" +
			"the gate out of the settings of all users instead. Nothing of it is left.",
		Examples: []string{"ringfence uninstall claude"},
		Takes:    command.One}
	gate := cmd.Flags.Bool("managed", false, "as root: take the gate away, and leave the shadows")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		agent := command.First(args)
		if *gate {
			return uninstallManaged(c)
		}
		if agent == "" {
			return 2, fault.New(fault.Usage, "for example: ringfence uninstall claude", "uninstall needs an agent, or all")
		}
		if agent == "all" {
			agent = ""
		}
		return uninstall(c, agent)
	}
	return cmd
}

func uninstall(c *command.Console, agent string) (int, error) {
	store, err := shadowStore(c)
	if err != nil {
		return 2, err
	}
	done, err := store.Uninstall(agent)
	for _, at := range slices.Sorted(maps.Keys(done)) {
		fmt.Fprintf(c.Out, "%s is no longer a shadow\n", plan.Show(at))
		if done[at].Kept != "" {
			fmt.Fprintf(c.Out, "  what stood there before is back\n")
		}
		if left := done[at].Left; left != "" {
			c.Say("warning: %s was left: it stood there before, and now something else does", plan.Show(left))
		}
	}
	if err != nil {
		return 1, err
	}
	ruled, err := uninstallRules(c, agent)
	if err != nil {
		return 1, err
	}
	if ruled && len(done) == 0 {
		return 0, nil
	}
	if len(done) == 0 {
		c.Say("there was nothing to take back")
		return 0, nil
	}
	c.Say("in shells that are open: hash -r")
	return 0, nil
}
