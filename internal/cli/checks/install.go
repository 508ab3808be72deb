package checks

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/install"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// installOptions is what install was asked for.
type installOptions struct {
	dir     string
	managed bool
	rules   string
	dryRun  bool
}

// Install puts shadows on PATH, and with --managed the gate into the settings of all.
func Install() *command.Command {
	cmd := &command.Command{Name: "install", Args: "[AGENT... | all] [flags]", Short: "make the fenced agent the one on PATH",
		Long: "Puts a shadow on PATH, so that the agent's name starts the fenced agent. What stands\n" +
			"there is kept beside it. Without AGENT it lists the shadows: exit 1 if PATH leads past one.",
		Examples: []string{"ringfence install claude --dry-run", "ringfence install claude --dir ~/.local/bin", "ringfence install --print-prompt"},
		Takes:    command.Many}
	f := &cmd.Flags
	var o installOptions
	f.StringVar(&o.dir, "dir", "", "the `DIR` of PATH; ~/.local/bin, or /usr/local/bin for root")
	f.BoolVar(&o.managed, "managed", false, "as root, with claude: refuse prompts outside of a sandbox, for every user")
	f.StringVar(&o.rules, "rules", "", "with claude: rules for the bare agent in your settings; `KIND` is belt or strict")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be done")
	asJSON := f.Bool("json", false, "print the list as JSON")
	prompt := f.Bool("print-prompt", false, "print a prompt that has an agent try its sandbox")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if *prompt {
			fmt.Fprint(c.Out, agent.RedTeamPrompt)
			return 0, nil
		}
		if len(args) == 0 {
			if o.managed {
				return 2, fault.New(fault.Usage, "ringfence install claude --managed", "--managed needs an agent")
			}
			return listShadows(c, *asJSON)
		}
		return installAgents(c, args, o)
	}
	return cmd
}

// shadowStore is where the record of what was installed lies.
func shadowStore(c *command.Console) (install.Store, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return install.Store{}, err
	}
	return install.Store{Path: filepath.Join(dirs.State, "install.json")}, nil
}

func installAgents(c *command.Console, names []string, o installOptions) (int, error) {
	profiles, err := profiles(c, names)
	if err != nil {
		return 2, err
	}
	if err := mayManage(profiles, o.managed); err != nil {
		return 2, err
	}
	if err := mayRule(profiles, o.rules); err != nil {
		return 2, err
	}
	// A shadow in the place of an agent that can no longer start would be found out later.
	if err := launch.Stands(context.Background(), c.Environ); err != nil {
		return 1, err
	}
	dir, err := shadowDir(c, o.dir)
	if err != nil {
		return 2, err
	}
	program, err := install.Program(c.Getenv("PATH"))
	if err != nil {
		return 1, err
	}
	store, err := shadowStore(c)
	if err != nil {
		return 2, err
	}
	for _, p := range profiles {
		for _, name := range p.Search.Names {
			sh := install.Shadow{Agent: p.Name, Name: name, Dir: dir, Program: program}
			if err := installOne(c, store, p, sh, o); err != nil {
				return 1, err
			}
		}
	}
	if o.managed {
		if err := installManaged(c, program, o.dryRun); err != nil {
			return 1, err
		}
	}
	if err := installRules(c, profiles, program, o); err != nil {
		return 1, err
	}
	if !o.dryRun {
		c.Say("in shells that are open: hash -r")
	}
	return 0, nil
}

// profiles are the agents of that name; "all" is those that are there.
func profiles(c *command.Console, names []string) ([]*agent.Profile, error) {
	dirs, err := c.Dirs()
	if err != nil {
		return nil, err
	}
	own := filepath.Join(dirs.Config, "agents")
	all := len(names) == 1 && names[0] == "all"
	if all {
		if names, err = agent.Names(own); err != nil {
			return nil, err
		}
	}
	var out []*agent.Profile
	for _, n := range names {
		p, err := agent.Load(n, own)
		if err != nil {
			return nil, err
		}
		if len(p.Search.Names) == 0 {
			return nil, fault.New(fault.Usage, "", "%q is not an agent", n)
		}
		if !all || install.Real(p, c.Getenv("PATH"), c.Getenv("HOME")) != "" {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fault.New(fault.NotFound, "ringfence install claude", "none of %s is here", strings.Join(names, ", "))
	}
	return out, nil
}

// shadowDir is where shadows go.
func shadowDir(c *command.Console, asked string) (string, error) {
	switch {
	case asked != "" && !filepath.IsAbs(asked):
		return filepath.Abs(asked)
	case asked != "":
		return filepath.Clean(asked), nil
	case os.Geteuid() == 0:
		return "/usr/local/bin", nil
	}
	home, err := filepath.EvalSymlinks(c.Getenv("HOME"))
	if err != nil || !filepath.IsAbs(home) {
		return "", fault.New(fault.Usage, "set HOME to your home directory", "HOME is %q", c.Getenv("HOME"))
	}
	return filepath.Join(home, ".local/bin"), nil
}

func installOne(c *command.Console, store install.Store, p *agent.Profile, sh install.Shadow, o installOptions) error {
	real := install.Real(p, c.Getenv("PATH"), c.Getenv("HOME"))
	if o.dryRun {
		fmt.Fprintf(c.Out, "%s would start %s %s\n", plan.Show(sh.String()), plan.Show(sh.Program), sh.Agent)
		return nil
	}
	res, err := store.Install(sh)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s starts %s %s\n", plan.Show(sh.String()), plan.Show(sh.Program), sh.Agent)
	if res.Kept != "" {
		fmt.Fprintf(c.Out, "  what stood there is kept as %s\n", plan.Show(res.Kept))
	}
	if real == "" {
		c.Say("warning: %s itself is not here: %s", p.Title, p.Install)
	}
	if st := sh.State(c.Getenv("PATH")); !st.Active {
		notActive(c, st)
	}
	for _, at := range install.Aliases(c.Getenv("HOME"), sh.Name) {
		c.Say("warning: %s gives %s another meaning, which comes before PATH: remove that line", plan.Show(at), sh.Name)
	}
	return nil
}

// notActive says why typing the name starts something else, and what to do.
func notActive(c *command.Console, st install.State) {
	leads := "nowhere"
	if st.First != "" {
		leads = "to " + plan.Show(st.First)
	}
	c.Say("warning: PATH leads %s for %s, past the shadow", leads, st.Name)
	c.Say("hint: %s", st.Advice)
}

// listShadows shows what is installed, and whether it is what a name leads to.
func listShadows(c *command.Console, asJSON bool) (int, error) {
	store, err := shadowStore(c)
	if err != nil {
		return 2, err
	}
	r, err := store.Load()
	if err != nil {
		return 2, err
	}
	states := []install.State{}
	status := 0
	for _, sh := range r.Shadows {
		st := sh.State(c.Getenv("PATH"))
		if !st.Active {
			status = 1
		}
		states = append(states, st)
	}
	if asJSON {
		return status, c.JSON(states)
	}
	for _, st := range states {
		word := "fenced"
		if !st.Active {
			word = "NOT FENCED"
		}
		fmt.Fprintf(c.Out, "%-10s  %-11s %s\n", word, st.Name, plan.Show(st.String()))
		if !st.Active {
			notActive(c, st)
		}
	}
	old, err := listRules(c)
	if err != nil {
		return 2, err
	}
	if old {
		status = 1
	}
	if len(states) == 0 {
		c.Say("nothing is installed")
		c.Say("hint: ringfence install claude")
	}
	return status, nil
}
