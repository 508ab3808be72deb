package checks

import (
	"context"
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Doctor raises every wall once in a throw-away child, in the order of launch.
func Doctor() *command.Command {
	cmd := &command.Command{Name: "doctor", Args: "[--json | --fix]", Short: "show what this host can enforce",
		Long:     "Shows what this host can enforce, by trying it. Exit 0: ok, 1: degraded, 2: unusable.\nWith --fix it mends what is this user's own, and prints what needs root as one script.",
		Examples: []string{"ringfence doctor", "ringfence doctor --fix"}}
	f := &cmd.Flags
	f.Bool("check", false, "the same; for those who look for it")
	asJSON := f.Bool("json", false, "print JSON; it names no user, host or path and is safe to paste")
	mend := f.Bool("fix", false, "do what this user can, and print the rest as a script; nothing is done as root")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if *mend && *asJSON {
			return 2, fault.New(fault.Usage, "give one of them", "--fix prints a script, and --json prints JSON")
		}
		if launch.Nested() {
			return 2, fault.New(fault.Usage, "run it outside", "this is the inside of a ringfence sandbox: what the host can enforce cannot be seen from here")
		}
		_, done := c.Progress("looking at this host", 0)
		facts, results := hostfacts.Probe(context.Background())
		// The walls of the first rung are tried one by one. That another one cannot be had
		// here says nothing against this host.
		higher := offers(context.Background(), c.Environ, 1)
		done()
		verdict := hostfacts.Verdict(results)
		word := []hostfacts.Status{hostfacts.OK, hostfacts.Degraded, hostfacts.Unusable}[verdict]
		if *mend {
			for _, o := range higher {
				results = append(results, o.Results...)
			}
			return verdict, fix(c, results)
		}
		if *asJSON {
			return verdict, c.JSON(map[string]any{"version": command.Version, "verdict": word, "facts": facts, "results": results, "rungs": higher})
		}
		how := map[hostfacts.Status]command.Style{hostfacts.OK: command.Good, hostfacts.Degraded: command.Notice, hostfacts.Unusable: command.Bad}
		var rows [][]string
		for _, r := range results {
			rows = append(rows, []string{c.Paint(how[r.Status], string(r.Status)), r.Name, r.Detail})
			if r.Fix != "" {
				rows = append(rows, []string{"", "", "fix: " + r.Fix})
			}
		}
		for _, o := range higher {
			rows = append(rows, []string{c.Paint(rungStyle[o.State], o.State), "rung " + o.title(), o.Adds})
			for _, r := range o.Results {
				if r.Fix != "" {
					rows = append(rows, []string{"", "", r.Detail}, []string{"", "", "fix: " + r.Fix})
				}
			}
		}
		if err := c.Table(nil, rows); err != nil {
			return 2, err
		}
		_, err := fmt.Fprintf(c.Out, "\nthis host is %s (Linux %s, %s)\n", c.Paint(how[word], string(word)), facts.Kernel, facts.Arch)
		return verdict, err
	}
	return cmd
}
