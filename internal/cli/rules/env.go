package rules

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
)

// Env is the audit of the environment: names and sources, never a value.
func Env() *command.Command {
	cmd := &command.Command{Name: "env", Args: "[flags]", Short: "show what of the environment comes inside, by name",
		Long:     "Shows what of your environment would come inside, by name; values are never printed.",
		Examples: []string{"ringfence env", "ringfence env --agent claude --json"}}
	who := cmd.Flags.String("agent", agent.Command, "`NAME` of the agent whose environment it is")
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	l := NewFlags(cmd)
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		opt, err := l.Options(c, *who, nil)
		if err != nil {
			return 2, err
		}
		env, err := session.Environment(opt)
		if err != nil && len(env.Entries) == 0 {
			return 2, err
		}
		if *asJSON {
			if e := c.JSON(env); e != nil {
				return 2, e
			}
		} else {
			w := bufio.NewWriter(c.Out)
			writeEnv(w, env)
			if e := w.Flush(); e != nil {
				return 2, e
			}
		}
		if err != nil {
			c.Explain(err)
			return 1, nil
		}
		return 0, nil
	}
	return cmd
}

// writeEnv prints names grouped by what became of them.
func writeEnv(w io.Writer, env environ.Environment) {
	for _, g := range []struct {
		kind  environ.Kind
		title string
	}{
		{environ.Passed, "passed from your environment"}, {environ.Set, "set by ringfence"},
		{environ.Added, "[+] added by you"}, {environ.Refused, "refused"}, {environ.Dropped, "dropped"},
	} {
		entries := env.Of(g.kind)
		fmt.Fprintf(w, "%s: %d\n", g.title, len(entries))
		for _, e := range entries {
			line := fmt.Sprintf("  %-28s %s", plan.Show(e.Name), session.VariableFrom(e))
			if e.Reason != "" {
				line += "  " + e.Reason
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
	}
}
