package cli

import (
	"context"
	"fmt"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/session"
)

// doctor raises every wall once in a throw-away child, in the order of launch.
func doctorCommand() *command {
	cmd := &command{name: "doctor", args: "[--json]", short: "show what this host can enforce",
		long:     "Shows what this host can enforce, by trying it. Exit 0: ok, 1: degraded, 2: unusable.",
		examples: []string{"ringfence doctor", "ringfence doctor --json"}}
	f := &cmd.flags
	f.Bool("check", false, "the same; for those who look for it")
	asJSON := f.Bool("json", false, "print JSON; it names no user, host or path and is safe to paste")
	cmd.run = func(c *console, args []string) (int, error) {
		if session.Nested() {
			return 2, fault.New(fault.Usage, "run it outside", "this is the inside of a ringfence sandbox: what the host can enforce cannot be seen from here")
		}
		_, done := c.progress("looking at this host", 0)
		facts, results := hostfacts.Probe(context.Background())
		done()
		verdict := hostfacts.Verdict(results)
		word := []hostfacts.Status{hostfacts.OK, hostfacts.Degraded, hostfacts.Unusable}[verdict]
		if *asJSON {
			return verdict, c.writeJSON(map[string]any{"version": Version, "verdict": word, "facts": facts, "results": results})
		}
		how := map[hostfacts.Status]style{hostfacts.OK: good, hostfacts.Degraded: notice, hostfacts.Unusable: bad}
		var rows [][]string
		for _, r := range results {
			rows = append(rows, []string{c.paint(how[r.Status], string(r.Status)), r.Name, r.Detail})
			if r.Fix != "" {
				rows = append(rows, []string{"", "", "fix: " + r.Fix})
			}
		}
		if err := c.table(nil, rows); err != nil {
			return 2, err
		}
		_, err := fmt.Fprintf(c.out, "\nthis host is %s (Linux %s, %s)\n", c.paint(how[word], string(word)), facts.Kernel, facts.Arch)
		return verdict, err
	}
	return cmd
}
