// Package rules has the commands about what is allowed: policy, secrets, trust, servers of
// MCP. It also has the flags of a launch, which are the last layer of policy.
package rules

import (
	"bufio"
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session"
)

// Policy shows, checks, tests and imports policy.
func Policy() *command.Command {
	return command.Family(&command.Command{Name: "policy", Short: "show or check the effective policy", Long: "Shows or checks the policy as it is in effect here, with all its layers."},
		policyShow(), policyCheck(), policyTest(), policyImport(), policyGroups(), policySchema())
}

// policyShow prints the effective policy with the source of every rule.
func policyShow() *command.Command {
	cmd := &command.Command{Name: "policy show", Args: "[flags]", Short: "print the effective policy, with the source of every rule",
		Long:     "Prints the effective policy with the file and line of every rule.",
		Examples: []string{"ringfence policy show", "ringfence policy show --resolved --agent claude"}}
	resolved := cmd.Flags.Bool("resolved", false, "also print the view it resolves to on this host")
	forAgent := cmd.Flags.Bool("for-agent", false, "print what the agent is told instead")
	who := cmd.Flags.String("agent", agent.Command, "`NAME` of the agent, with --resolved and --for-agent")
	l := NewFlags(cmd)
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		opt, err := l.Options(c, *who, []string{"/bin/sh"})
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
		w := bufio.NewWriter(c.Out)
		if *forAgent {
			w.WriteString(s.Note)
			return 0, w.Flush()
		}
		if err := policy.Write(w, s.Policy); err != nil {
			return 2, err
		}
		for _, ch := range s.Ignored {
			fmt.Fprintf(w, "# %s\n", ch.Ignored())
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
func policyCheck() *command.Command {
	cmd := &command.Command{Name: "policy check", Args: "[flags]", Short: "report rules that cannot be enforced",
		Long:     "Reports what would stop a launch: rules that cannot be enforced, paths that do not exist\nor hold credentials, refused variables. Exit 0: none, 1: some, 2: a file cannot be read.",
		Examples: []string{"ringfence policy check"}}
	l := NewFlags(cmd)
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		opt, err := l.Options(c, agent.Command, nil)
		if err != nil {
			return 2, err
		}
		findings, err := session.Findings(opt)
		if err != nil {
			c.Explain(err)
			return 2, nil
		}
		for _, f := range findings {
			fmt.Fprintln(c.Out, command.Inert(f))
		}
		if len(findings) > 0 {
			return 1, nil
		}
		c.Say("every rule can be enforced")
		return 0, nil
	}
	return cmd
}

// policyGroups lists the groups of hosts and which of them are on.
func policyGroups() *command.Command {
	cmd := &command.Command{Name: "policy groups", Args: "[flags]", Short: "list the groups of hosts, and which are on",
		Long:     "Lists the groups of hosts: which are on, and since where. Switch one with --net +NAME\nor --net -NAME, or in a policy file.",
		Examples: []string{"ringfence policy groups", "ringfence policy groups --hosts --net dev,+haskell"}}
	hosts := cmd.Flags.Bool("hosts", false, "also list their hosts")
	l := NewFlags(cmd)
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		opt, err := l.Options(c, agent.Command, nil)
		if err != nil {
			return 2, err
		}
		s, err := session.Look(opt)
		if err != nil {
			return 2, err
		}
		w := bufio.NewWriter(c.Out)
		for _, g := range s.Policy.GroupsOn() {
			state := "off"
			if g.On {
				state = "on"
			}
			kind := "allow"
			if g.Deny {
				kind = "deny"
			}
			fmt.Fprintf(w, "%-3s %-5s %-11s %s\n", state, kind, g.Name, command.Wrap(g.About, 22, 80))
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

func policySchema() *command.Command {
	return &command.Command{Name: "policy schema", Short: "print the JSON Schema of a policy file", Long: "Prints the JSON Schema of a policy file.", Examples: []string{"ringfence policy schema"},
		Run: func(c *command.Console, _ []string) (int, error) {
			_, err := c.Out.Write(policy.Schema())
			return 0, err
		}}
}
