package cli

import (
	"bufio"
	"fmt"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session"
)

func policyCommand(c *context, name string, args []string) (int, error) {
	return c.mustVerb(name, "Shows or checks the policy as it is in effect here, with all its layers.", args, []verb{
		{name: "show", args: "[flags]", short: "print the effective policy, with the source of every rule", run: policyShow,
			examples: []string{"ringfence policy show", "ringfence policy show --resolved --agent claude"}},
		{name: "check", args: "[flags]", short: "report rules that cannot be enforced", run: policyCheck,
			examples: []string{"ringfence policy check"}},
		{name: "test", args: "[FILE] [--live] [--replay [SESSION...]] [flags]", short: "hold a file of tests against the policy, or past sessions", run: policyTest,
			examples: []string{"ringfence policy test", "ringfence policy test --live", "ringfence policy test --replay --policy new.toml"}},
		{name: "import", args: "--claude | --codex | --srt [flags]", short: "turn the settings of another tool into policy", run: policyImport,
			examples: []string{"ringfence policy import --claude", "ringfence policy import --codex --from .codex/config.toml"}},
		{name: "groups", args: "[flags]", short: "list the groups of hosts, and which are on", run: policyGroups,
			examples: []string{"ringfence policy groups", "ringfence policy groups --hosts --net dev,+haskell"}},
		{name: "schema", short: "print the JSON Schema of a policy file", run: policySchema,
			examples: []string{"ringfence policy schema"}},
	})
}

// policyShow prints the effective policy with the source of every rule.
func policyShow(c *context, args []string) (int, error) {
	l := newLaunchFlags(c, "policy show", "[flags]", "Prints the effective policy with the file and line of every rule.")
	resolved := l.set.Bool("resolved", false, "also print the view it resolves to on this host")
	forAgent := l.set.Bool("for-agent", false, "print what the agent is told instead")
	who := l.set.String("agent", agent.Command, "`NAME` of the agent, with --resolved and --for-agent")
	if err := c.parseAll(l.set, args); err != nil {
		return 2, err
	}
	opt, err := l.options(c, *who, []string{"/bin/sh"})
	if err != nil {
		return 2, err
	}
	opt.Look = true
	look := session.Look
	if *resolved || *forAgent {
		look = session.Prepare
	}
	s, err := look(opt)
	if err != nil {
		return 2, err
	}
	w := bufio.NewWriter(c.out)
	if *forAgent {
		w.WriteString(s.Note)
		return 0, w.Flush()
	}
	if err := policy.Write(w, s.Policy); err != nil {
		return 2, err
	}
	for _, ch := range s.Ignored {
		fmt.Fprintf(w, "# not trusted, ignored: %s\n", ch)
	}
	if *resolved {
		fmt.Fprintf(w, "\n# what it resolves to for %s:\n", s.Profile.Title)
		s.Plan.Text(w)
	}
	return 0, w.Flush()
}

// policyCheck reports rules that cannot be enforced: 0 none, 1 some, 2 unreadable.
func policyCheck(c *context, args []string) (int, error) {
	l := newLaunchFlags(c, "policy check", "[flags]", "Reports what would stop a launch: rules that cannot be enforced, paths that do not exist\nor hold credentials, refused variables. Exit 0: none, 1: some, 2: a file cannot be read.")
	if err := c.parseAll(l.set, args); err != nil {
		return 2, err
	}
	opt, err := l.options(c, agent.Command, nil)
	if err != nil {
		return 2, err
	}
	findings, err := session.Findings(opt)
	if err != nil {
		c.explain(err)
		return 2, nil
	}
	for _, f := range findings {
		fmt.Fprintln(c.out, inert(f))
	}
	if len(findings) > 0 {
		return 1, nil
	}
	fmt.Fprintln(c.err, "ringfence: every rule can be enforced")
	return 0, nil
}

// policyGroups lists the groups of hosts and which of them are on.
func policyGroups(c *context, args []string) (int, error) {
	l := newLaunchFlags(c, "policy groups", "[flags]", "Lists the groups of hosts: which are on, and since where. Switch one with --net +NAME\nor --net -NAME, or in a policy file.")
	hosts := l.set.Bool("hosts", false, "also list their hosts")
	if err := c.parseAll(l.set, args); err != nil {
		return 2, err
	}
	opt, err := l.options(c, agent.Command, nil)
	if err != nil {
		return 2, err
	}
	s, err := session.Look(opt)
	if err != nil {
		return 2, err
	}
	w := bufio.NewWriter(c.out)
	for _, g := range s.Policy.GroupsOn() {
		state := "off"
		if g.On {
			state = "on"
		}
		kind := "allow"
		if g.Deny {
			kind = "deny"
		}
		fmt.Fprintf(w, "%-3s %-5s %-11s %s\n", state, kind, g.Name, wrapText(g.About, 22, 80))
		for _, h := range g.Hosts {
			if *hosts {
				fmt.Fprintf(w, "%22s%s\n", "", h)
			}
		}
	}
	return 0, w.Flush()
}

func policySchema(c *context, args []string) (int, error) {
	if err := c.parseAll(c.flags("policy schema", "", "Prints the JSON Schema of a policy file."), args); err != nil {
		return 2, err
	}
	_, err := c.out.Write(policy.Schema())
	return 0, err
}
