package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/install"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// installOptions is what install was asked for.
type installOptions struct {
	dir     string
	managed bool
	dryRun  bool
}

// install puts shadows on PATH, and with --managed the gate into the settings of all.
func installCommand() *command {
	cmd := &command{name: "install", args: "[AGENT... | all] [flags]", short: "make the fenced agent the one on PATH",
		long: "Puts a shadow on PATH, so that the agent's name starts the fenced agent. What stands\n" +
			"there is kept beside it. Without AGENT it lists the shadows: exit 1 if PATH leads past one.",
		examples: []string{"ringfence install claude --dry-run", "ringfence install claude --dir ~/.local/bin", "ringfence install --print-prompt"},
		takes:    takesMany}
	f := &cmd.flags
	var o installOptions
	f.StringVar(&o.dir, "dir", "", "the `DIR` of PATH; ~/.local/bin, or /usr/local/bin for root")
	f.BoolVar(&o.managed, "managed", false, "as root, with claude: refuse prompts outside of a sandbox, for every user")
	f.BoolVar(&o.dryRun, "dry-run", false, "say what would be done")
	asJSON := f.Bool("json", false, "print the list as JSON")
	prompt := f.Bool("print-prompt", false, "print a prompt that has an agent try its sandbox")
	cmd.run = func(c *console, args []string) (int, error) {
		if *prompt {
			fmt.Fprint(c.out, agent.RedTeamPrompt)
			return 0, nil
		}
		if len(args) == 0 {
			if o.managed {
				return 2, fault.New(fault.Usage, "ringfence install claude --managed", "--managed needs an agent")
			}
			return c.listShadows(*asJSON)
		}
		return c.install(args, o)
	}
	return cmd
}

// store is where the record of what was installed lies.
func (c *console) store() (install.Store, error) {
	dirs, err := c.dirs()
	if err != nil {
		return install.Store{}, err
	}
	return install.Store{Path: filepath.Join(dirs.State, "install.json")}, nil
}

func (c *console) install(names []string, o installOptions) (int, error) {
	profiles, err := c.profiles(names)
	if err != nil {
		return 2, err
	}
	if err := c.mayManage(profiles, o.managed); err != nil {
		return 2, err
	}
	dir, err := c.shadowDir(o.dir)
	if err != nil {
		return 2, err
	}
	program, err := install.Program(c.getenv("PATH"))
	if err != nil {
		return 1, err
	}
	store, err := c.store()
	if err != nil {
		return 2, err
	}
	for _, p := range profiles {
		for _, name := range p.Search.Names {
			sh := install.Shadow{Agent: p.Name, Name: name, Dir: dir, Program: program}
			if err := c.installOne(store, p, sh, o); err != nil {
				return 1, err
			}
		}
	}
	if o.managed {
		if err := c.installManaged(program, o.dryRun); err != nil {
			return 1, err
		}
	}
	if !o.dryRun {
		fmt.Fprintln(c.err, "ringfence: in shells that are open: hash -r")
	}
	return 0, nil
}

// profiles are the agents of that name; "all" is those that are there.
func (c *console) profiles(names []string) ([]*agent.Profile, error) {
	dirs, err := c.dirs()
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
		if !all || install.Real(p, c.getenv("PATH"), c.getenv("HOME")) != "" {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fault.New(fault.NotFound, "ringfence install claude", "none of %s is here", strings.Join(names, ", "))
	}
	return out, nil
}

// shadowDir is where shadows go.
func (c *console) shadowDir(asked string) (string, error) {
	switch {
	case asked != "" && !filepath.IsAbs(asked):
		return filepath.Abs(asked)
	case asked != "":
		return filepath.Clean(asked), nil
	case os.Geteuid() == 0:
		return "/usr/local/bin", nil
	}
	home, err := filepath.EvalSymlinks(c.getenv("HOME"))
	if err != nil || !filepath.IsAbs(home) {
		return "", fault.New(fault.Usage, "set HOME to your home directory", "HOME is %q", c.getenv("HOME"))
	}
	return filepath.Join(home, ".local/bin"), nil
}

func (c *console) installOne(store install.Store, p *agent.Profile, sh install.Shadow, o installOptions) error {
	real := install.Real(p, c.getenv("PATH"), c.getenv("HOME"))
	if o.dryRun {
		fmt.Fprintf(c.out, "%s would start %s %s\n", plan.Show(sh.String()), plan.Show(sh.Program), sh.Agent)
		return nil
	}
	res, err := store.Install(sh)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s starts %s %s\n", plan.Show(sh.String()), plan.Show(sh.Program), sh.Agent)
	if res.Kept != "" {
		fmt.Fprintf(c.out, "  what stood there is kept as %s\n", plan.Show(res.Kept))
	}
	if real == "" {
		fmt.Fprintf(c.err, "ringfence: warning: %s itself is not here: %s\n", p.Title, p.Install)
	}
	if st := sh.State(c.getenv("PATH")); !st.Active {
		c.notActive(st)
	}
	for _, at := range install.Aliases(c.getenv("HOME"), sh.Name) {
		fmt.Fprintf(c.err, "ringfence: warning: %s gives %s another meaning, which comes before PATH: remove that line\n", plan.Show(at), sh.Name)
	}
	return nil
}

// notActive says why typing the name starts something else, and what to do.
func (c *console) notActive(st install.State) {
	leads := "nowhere"
	if st.First != "" {
		leads = "to " + plan.Show(st.First)
	}
	fmt.Fprintf(c.err, "ringfence: warning: PATH leads %s for %s, past the shadow\n", leads, st.Name)
	fmt.Fprintf(c.err, "ringfence: hint: %s\n", inert(st.Advice))
}

// listShadows shows what is installed, and whether it is what a name leads to.
func (c *console) listShadows(asJSON bool) (int, error) {
	store, err := c.store()
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
		st := sh.State(c.getenv("PATH"))
		if !st.Active {
			status = 1
		}
		states = append(states, st)
	}
	if asJSON {
		return status, c.writeJSON(states)
	}
	for _, st := range states {
		word := "fenced"
		if !st.Active {
			word = "NOT FENCED"
		}
		fmt.Fprintf(c.out, "%-10s  %-11s %s\n", word, st.Name, plan.Show(st.String()))
		if !st.Active {
			c.notActive(st)
		}
	}
	if len(states) == 0 {
		fmt.Fprintln(c.err, "ringfence: nothing is installed")
		fmt.Fprintln(c.err, "ringfence: hint: ringfence install claude")
	}
	return status, nil
}
