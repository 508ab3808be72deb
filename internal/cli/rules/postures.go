package rules

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
)

// Postures prints the named bundles of policy.
func Postures() *command.Command {
	cmd := &command.Command{Name: "postures", Args: "[NAME] [--json]", Takes: command.One, Short: "choose --for by the task: a stranger's repository, the web, a night alone",
		Long:     "Shows the postures: bundles of policy by what you are about to do, for --for NAME of a\nlaunch, or [project] for in your policy. With NAME: what is in it. It lies upon your own\npolicy; a flag still says otherwise.",
		Examples: []string{"ringfence postures", "ringfence postures untrusted-repo"}}
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		all := policy.Postures()
		if len(args) == 1 {
			i := slices.IndexFunc(all, func(p *policy.Posture) bool { return p.Name == args[0] })
			if i < 0 {
				return 2, fault.New(fault.Usage, "they are: "+strings.Join(policy.PostureNames(), ", "), "there is no posture %q", args[0])
			}
			all = all[i : i+1]
		}
		if *asJSON {
			return 0, c.JSON(all)
		}
		if len(args) == 1 {
			return 0, showPosture(c, all[0])
		}
		return 0, listPostures(c, all)
	}
	return cmd
}

func listPostures(c *command.Console, all []*policy.Posture) error {
	var rows [][]string
	for _, p := range all {
		rows = append(rows, []string{p.Name, p.Level, p.For})
	}
	return c.Table([]string{"POSTURE", "LEVEL", "FOR"}, rows)
}

func showPosture(c *command.Console, p *policy.Posture) error {
	fmt.Fprintf(c.Out, "# %s: %s\n# level %s\n", p.Name, p.For, p.Level)
	for _, w := range []struct {
		holds bool
		text  string
	}{
		{p.Highest, "the highest rung that can be had here, unless --rung names one"},
		{p.Alone, "no MCP server of yours, unless --mcp names it"},
		{p.Distrust, "what you trusted of the project counts as not trusted"},
		{p.Silent, "nobody is asked: what is not allowed is refused"},
	} {
		if w.holds {
			fmt.Fprintf(c.Out, "# %s\n", w.text)
		}
	}
	if p.Text != "" {
		fmt.Fprintf(c.Out, "\n%s\n", p.Text)
	}
	return nil
}
