package cli

import (
	"bufio"
	"fmt"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session"
)

func policyCommand() *command {
	return family(&command{name: "policy", short: "show or check the effective policy", long: "Shows or checks the policy as it is in effect here, with all its layers."},
		policyShow(), policyCheck(), policyTest(), policyImport(), policyGroups(), policySchema())
}

// policyShow prints the effective policy with the source of every rule.
func policyShow() *command {
	cmd := &command{name: "policy show", args: "[flags]", short: "print the effective policy, with the source of every rule",
		long:     "Prints the effective policy with the file and line of every rule.",
		examples: []string{"ringfence policy show", "ringfence policy show --resolved --agent claude"}}
	resolved := cmd.flags.Bool("resolved", false, "also print the view it resolves to on this host")
	forAgent := cmd.flags.Bool("for-agent", false, "print what the agent is told instead")
	who := cmd.flags.String("agent", agent.Command, "`NAME` of the agent, with --resolved and --for-agent")
	l := newLaunchFlags(cmd)
	cmd.run = func(c *console, args []string) (int, error) {
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
	return cmd
}

// policyCheck reports rules that cannot be enforced: 0 none, 1 some, 2 unreadable.
func policyCheck() *command {
	cmd := &command{name: "policy check", args: "[flags]", short: "report rules that cannot be enforced",
		long:     "Reports what would stop a launch: rules that cannot be enforced, paths that do not exist\nor hold credentials, refused variables. Exit 0: none, 1: some, 2: a file cannot be read.",
		examples: []string{"ringfence policy check"}}
	l := newLaunchFlags(cmd)
	cmd.run = func(c *console, args []string) (int, error) {
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
	return cmd
}

// policyGroups lists the groups of hosts and which of them are on.
func policyGroups() *command {
	cmd := &command{name: "policy groups", args: "[flags]", short: "list the groups of hosts, and which are on",
		long:     "Lists the groups of hosts: which are on, and since where. Switch one with --net +NAME\nor --net -NAME, or in a policy file.",
		examples: []string{"ringfence policy groups", "ringfence policy groups --hosts --net dev,+haskell"}}
	hosts := cmd.flags.Bool("hosts", false, "also list their hosts")
	l := newLaunchFlags(cmd)
	cmd.run = func(c *console, args []string) (int, error) {
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
	return cmd
}

func policySchema() *command {
	return &command{name: "policy schema", short: "print the JSON Schema of a policy file", long: "Prints the JSON Schema of a policy file.", examples: []string{"ringfence policy schema"},
		run: func(c *console, _ []string) (int, error) {
			_, err := c.out.Write(policy.Schema())
			return 0, err
		}}
}
