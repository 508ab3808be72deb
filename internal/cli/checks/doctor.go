package checks

import (
	"context"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Doctor raises every wall once in a throw-away child, in the order of launch.
func Doctor() *command.Command {
	cmd := &command.Command{Name: "doctor", Args: "[--rung NAME] [--json | --fix]", Short: "show what this host can enforce",
		Long:     "Shows what this host can enforce, by trying it. Exit 0: ok, 1: degraded, 2: unusable.\nWith --fix it mends what is this user's own, and prints what needs root as one script.",
		Examples: []string{"ringfence doctor", "ringfence doctor --fix"}}
	f := &cmd.Flags
	f.Bool("check", false, "the same; for those who look for it")
	asJSON := f.Bool("json", false, "print JSON; it names no user, host or path and is safe to paste")
	on := f.String("rung", "", "look at this rung alone, as at `ssh:HOST` for another machine")
	mend := f.Bool("fix", false, "do what this user can, and print the rest as a script; nothing is done as root")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if *mend && *asJSON {
			return 2, fault.New(fault.Usage, "give one of them", "--fix prints a script, and --json prints JSON")
		}
		if launch.Nested() {
			return 2, fault.New(fault.Usage, "run it outside", "this is the inside of a ringfence sandbox: what the host can enforce cannot be seen from here")
		}
		if *mend && *on != "" {
			return 2, fault.New(fault.Usage, "give one of them", "--fix mends this host, and --rung looks at one rung")
		}
		if *on != "" {
			return oneRung(c, *on, *asJSON)
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
		rows := resultRows(c, results)
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
		_, err := fmt.Fprintf(c.Out, "\nthis host is %s (Linux %s, %s)\n", c.Paint(statusStyle[word], string(word)), facts.Kernel, facts.Arch)
		return verdict, err
	}
	return cmd
}

var statusStyle = map[hostfacts.Status]command.Style{hostfacts.OK: command.Good, hostfacts.Degraded: command.Notice, hostfacts.Unusable: command.Bad}

func resultRows(c *command.Console, results []hostfacts.Result) (rows [][]string) {
	for _, r := range results {
		rows = append(rows, []string{c.Paint(statusStyle[r.Status], string(r.Status)), r.Name, r.Detail})
		if r.Fix != "" {
			rows = append(rows, []string{"", "", "fix: " + r.Fix})
		}
	}
	return rows
}

// oneRung shows what one rung can enforce.
func oneRung(c *command.Console, name string, asJSON bool) (int, error) {
	flags, err := policy.UseRung(name, "", "")
	if err != nil {
		return 2, err
	}
	r, err := launch.On(c.Environ, flags)
	if err != nil {
		return 2, err
	}
	_, done := c.Progress("looking at the rung "+name, 0)
	results := r.Try(context.Background())
	done()
	verdict := hostfacts.Verdict(results)
	word := []hostfacts.Status{hostfacts.OK, hostfacts.Degraded, hostfacts.Unusable}[verdict]
	if asJSON {
		unnamed(r, results)
		return verdict, c.JSON(map[string]any{"version": command.Version, "rung": r.Name(), "verdict": word, "results": results})
	}
	if err := c.Table(nil, resultRows(c, results)); err != nil {
		return 2, err
	}
	by := ""
	if whose := r.Offer().Word; whose != "" && word != hostfacts.Unusable {
		by = ", by the word of " + whose
	}
	_, err = fmt.Fprintf(c.Out, "\nthe rung %s is %s%s\n", name, c.Paint(statusStyle[word], string(word)), by)
	return verdict, err
}

// unnamed takes the name of a machine out of what is safe to paste.
func unnamed(r rung.Rung, results []hostfacts.Result) {
	at, ok := r.(rung.Housed)
	if !ok {
		return
	}
	house := at.House(context.Background())
	if _, host, named := strings.Cut(house, "@"); named {
		hide(results, house)
		house = host
	}
	hide(results, house)
}

func hide(results []hostfacts.Result, name string) {
	for i := range results {
		if r := &results[i]; name != "" {
			r.Detail, r.Fix = strings.ReplaceAll(r.Detail, name, "HOST"), strings.ReplaceAll(r.Fix, name, "HOST")
		}
	}
}
