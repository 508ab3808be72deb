package checks

import (
	"fmt"
	"os"
	"slices"

	"ringfence.dev/ringfence/internal/audit/hook"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/install"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// mayManage refuses --managed where it can do nothing.
func mayManage(profiles []*agent.Profile, asked bool) error {
	switch {
	case !asked:
		return nil
	case os.Geteuid() != 0:
		return fault.New(fault.Refused, "as root: ringfence install claude --managed", "--managed is for all users of this machine, and needs root")
	case !slices.ContainsFunc(profiles, func(p *agent.Profile) bool { return p.Name == "claude" }):
		return fault.New(fault.Usage, "ringfence install claude --managed", "--managed is known for claude only")
	}
	return nil
}

// installManaged puts the gate into the settings of all users.
func installManaged(c *command.Console, program string, dryRun bool) error {
	g := install.Gate{Settings: install.GateSettings, Record: install.GateRecord, Program: program}
	if dryRun {
		text, err := g.Plan()
		if err != nil {
			return err
		}
		if text == nil {
			fmt.Fprintf(c.Out, "%s has the gate already\n", g.Settings)
			return nil
		}
		fmt.Fprintf(c.Out, "%s would hold:\n%s", g.Settings, text)
		return nil
	}
	if err := g.Install(); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s refuses prompts outside of a sandbox\n", plan.Show(g.Settings))
	fmt.Fprintf(c.Out, "  root can let agents run bare with the file %s\n", hook.BarePath)
	return nil
}

func uninstallManaged(c *command.Console) (int, error) {
	if os.Geteuid() != 0 {
		return 2, fault.New(fault.Refused, "as root: ringfence uninstall --managed", "--managed is for all users of this machine, and needs root")
	}
	g := install.Gate{Settings: install.GateSettings, Record: install.GateRecord}
	was, err := g.Uninstall()
	if err != nil {
		return 1, err
	}
	if !was {
		c.Say("there was nothing to take back")
		return 0, nil
	}
	fmt.Fprintf(c.Out, "%s has the gate no more\n", plan.Show(g.Settings))
	return 0, nil
}
