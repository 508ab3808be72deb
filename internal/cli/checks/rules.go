package checks

import (
	"fmt"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/install"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// The kinds of rules for an agent that something starts without a sandbox.
const (
	beltRules   = "belt"
	strictRules = "strict"
)

func isClaude(p *agent.Profile) bool { return p.Name == "claude" }

// mayRule refuses --rules where it can do nothing.
func mayRule(profiles []*agent.Profile, kind string) error {
	switch {
	case kind == "":
		return nil
	case kind != beltRules && kind != strictRules:
		return fault.New(fault.Usage, "one of: belt, strict", "--rules: there is no kind %q", kind)
	case !slices.ContainsFunc(profiles, isClaude):
		return fault.New(fault.Usage, "ringfence install claude --rules belt", "--rules is known for claude only")
	}
	return nil
}

// userRules are those in the settings of this user.
func userRules(c *command.Console, program, kind string) (install.Gate, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return install.Gate{}, err
	}
	config := c.Getenv("CLAUDE_CONFIG_DIR")
	if !filepath.IsAbs(config) {
		config = filepath.Join(c.Getenv("HOME"), ".claude")
	}
	return install.Gate{Settings: filepath.Join(config, "settings.json"), Record: filepath.Join(dirs.State, "rules.json"), Program: program,
		Bare: true, Strict: kind == strictRules}, nil
}

// installRules writes the rules that were asked for, and offers them where there are none.
func installRules(c *command.Console, profiles []*agent.Profile, program string, o installOptions) error {
	if !slices.ContainsFunc(profiles, isClaude) {
		return nil
	}
	g, err := userRules(c, program, o.rules)
	if err != nil {
		return err
	}
	had, strict, err := g.Installed()
	if err != nil {
		return err
	}
	switch {
	case o.rules == "" && !had:
		if !o.dryRun {
			c.Say("for an agent that an editor starts past the shadow: ringfence install claude --rules belt")
		}
		return nil
	case o.rules == "":
		g.Strict = strict // they are renewed
	}
	if o.dryRun {
		text, err := g.Plan()
		if err != nil || text == nil {
			return err
		}
		fmt.Fprintf(c.Out, "%s would hold:\n%s", plan.Show(g.Settings), text)
		return nil
	}
	if err := g.Install(); err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s has rules for the bare agent\n", plan.Show(g.Settings))
	return nil
}

// listRules shows the rules if there are some, and reports whether they are out of date:
// older than this ringfence, or taken out by somebody.
func listRules(c *command.Console) (old bool, err error) {
	program, err := install.Program(c.Getenv("PATH"))
	if err != nil {
		return false, nil // there is nothing that a hook could run
	}
	g, err := userRules(c, program, "")
	if err != nil {
		return false, err
	}
	had, strict, err := g.Installed()
	if !had || err != nil {
		return false, err
	}
	if g, err = g.Recorded(); err != nil {
		return false, err
	}
	g.Strict = strict
	text, err := g.Plan()
	word := "rules"
	if old = text != nil || err != nil; old {
		word = "OLD RULES"
	}
	fmt.Fprintf(c.Out, "%-10s  %-11s %s\n", word, "claude", plan.Show(g.Settings))
	if old {
		c.Say("hint: ringfence install claude")
	}
	return old, err
}

// uninstallRules takes the rules out again. It reports whether there were some.
func uninstallRules(c *command.Console, agent string) (bool, error) {
	if agent != "" && agent != "claude" {
		return false, nil
	}
	g, err := userRules(c, "", "")
	if err != nil {
		return false, err
	}
	if g, err = g.Recorded(); err != nil {
		return false, err
	}
	was, err := g.Uninstall()
	if was {
		fmt.Fprintf(c.Out, "%s has no rules of ours any more\n", plan.Show(g.Settings))
	}
	return was, err
}
