package rules

import (
	"bufio"
	"cmp"
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
			WriteEnv(w, env, true)
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

// WriteEnv prints names grouped by what became of them. The short form, names
// alone, is for the launch card.
func WriteEnv(w io.Writer, env environ.Environment, long bool) {
	group := map[environ.Kind][]environ.Entry{}
	for _, e := range env.Entries {
		group[e.Kind] = append(group[e.Kind], e)
	}
	if !long {
		for _, kind := range []environ.Kind{environ.Passed, environ.Set, environ.Dropped} {
			writeNames(w, kind, group[kind])
		}
		for _, e := range group[environ.Added] {
			fmt.Fprintf(w, "  [+]        %s  (%s)\n", e.Name, sourceOf(e))
		}
		for _, e := range group[environ.Refused] {
			fmt.Fprintf(w, "  [-]        %s  (%s)\n", e.Name, e.Reason)
		}
		return
	}
	for _, g := range []struct {
		kind  environ.Kind
		title string
	}{
		{environ.Passed, "passed from your environment"}, {environ.Set, "set by ringfence"},
		{environ.Added, "[+] added by you"}, {environ.Refused, "refused"}, {environ.Dropped, "dropped"},
	} {
		fmt.Fprintf(w, "%s: %d\n", g.title, len(group[g.kind]))
		for _, e := range group[g.kind] {
			line := fmt.Sprintf("  %-28s %s", plan.Show(e.Name), sourceOf(e))
			if e.Reason != "" {
				line += "  " + e.Reason
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
	}
}

// writeNames lists names in lines that fit a terminal of 80 columns.
func writeNames(w io.Writer, kind environ.Kind, entries []environ.Entry) {
	var names []string
	for _, e := range entries {
		names = append(names, plan.Show(e.Name))
	}
	fmt.Fprintf(w, "  %-11s%s\n", kind, command.Wrap(cmp.Or(strings.Join(names, " "), "nothing"), 13, 80))
}

func sourceOf(e environ.Entry) string {
	file := e.Source.File
	if strings.HasPrefix(file, "/") {
		file = plan.Show(file)
	}
	if e.Source.Line > 0 {
		return fmt.Sprintf("%s:%d", file, e.Source.Line)
	}
	return file
}
