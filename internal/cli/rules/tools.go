package rules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/supervisor"
	"ringfence.dev/ringfence/internal/session/toolbox"
)

// Tools fetches programs for a project that the host does not have.
func Tools() *command.Command {
	return command.Family(&command.Command{Name: "tools", Short: "fetch tools for this project that the machine lacks",
		Long:     "Fetches programs for the sessions of this project, where the machine does not have them.\nThey are fetched in a sandbox, kept with the project, shown read-only behind all else on\nPATH, and never run outside. An agent asks for one by get-tool NAME.",
		Examples: []string{"ringfence tools add debian:jq", "ringfence tools ls"}},
		toolsAdd(), toolsList(), toolsRemove())
}

const aboutAdd = `Fetches a tool for the sessions of this project; one that runs has it at once. SOURCE is
debian (this machine's apt sources), npm, pypi, go, crates, or nix. Releases that are too
young are held back, and scripts of packages are not run, as [supply] of your policy says.`

func toolsAdd() *command.Command {
	cmd := &command.Command{Name: "tools add", Args: "SOURCE:NAME [flags]", Short: "fetch a tool", Long: aboutAdd,
		Examples: []string{"ringfence tools add debian:ripgrep", "ringfence tools add npm:prettier"}, Takes: command.One}
	of := cmd.Flags.String("project", "", "only if the project here is the one at `PATH`")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		t, s, err := chosenTool(c, args)
		if err != nil {
			return 2, err
		}
		if *of != "" && *of != s.ProjectRoot() {
			return 1, fault.New(fault.Refused, "", "the project here is %s, not %s", plan.Show(s.ProjectRoot()), plan.Show(*of))
		}
		if r := &s.Policy.Tools; !r.Allows(t) && !r.Asks() {
			return 1, fault.New(fault.Refused, "allow it there: [tools] allow = [\""+t.String()+"\"]", "%s is not fetched: [tools] default is %q (%s)", t, policy.ToolsNone, r.Default.Source.String())
		}
		program, err := s.Program(toolbox.Programs[t.Source])
		if err != nil {
			return 1, fault.New(fault.Refused, "choose another source, or install it", "tools of %s are fetched by %s, which is not on this machine, or only where an agent can write", t.Source, toolbox.Programs[t.Source])
		}
		project, err := s.Dirs.Open(s.ProjectRoot())
		if err != nil {
			return 1, err
		}
		defer project.Close()
		kept, err := addTool(c, s, t, program)
		if err != nil {
			return 1, err
		}
		for _, left := range kept.Left {
			c.Say("left out: %s", command.Inert(left))
		}
		c.Say("%s is there, %.1f MiB: %s", t, float64(kept.Size)/(1<<20), strings.Join(kept.Commands, ", "))
		return 0, nil
	}
	return cmd
}

// chosenTool reads the name, and by which rules it is judged.
func chosenTool(c *command.Console, args []string) (t policy.Tool, s *session.Session, err error) {
	if t, err = policy.ParseTool(command.First(args)); err != nil {
		return t, nil, fault.New(fault.Usage, "for example: ringfence tools add debian:jq", "%w", err)
	}
	s, err = projectHere(c)
	return t, s, err
}

// projectHere is the project that we are in, with its own rules too.
func projectHere(c *command.Console) (*session.Session, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	return session.Look(launch.Options{Agent: agent.Command, Dir: dir, Environ: c.Environ, Flags: &policy.Policy{}})
}

func addTool(c *command.Console, s *session.Session, t policy.Tool, program string) (kept toolbox.Kept, err error) {
	f, err := session.Box(s.Base).Begin(t)
	if err != nil {
		return kept, err
	}
	defer func() { err = errors.Join(err, f.End()) }()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	empty, err := os.MkdirTemp("", "ringfence-tool-")
	if err != nil {
		return kept, err
	}
	defer os.Remove(empty)
	if o := fetchOptions(c, s, f, empty); t.Source == "nix" {
		err = buildNix(ctx, c, o, f, program)
	} else {
		err = fetchTool(ctx, c, o, f)
	}
	if err != nil {
		return kept, err
	}
	return f.Keep(time.Now())
}

// fetchOptions are those of the session that fetches a tool, in an empty directory.
func fetchOptions(c *command.Console, s *session.Session, f *toolbox.Fetch, empty string) launch.Options {
	argv, shown := toolbox.Recipe(f.Tool, f.Inside())
	return launch.Options{Agent: agent.Command, Args: argv, Dir: empty, Workspaces: []string{empty + ":ro"}, Flags: &policy.Policy{}, Environ: c.Environ, Version: command.VersionText(),
		NoProject: true, Fetch: f.Tool.String(), Wanting: s.Policy, Binds: append(shown, plan.Mount{Src: f.Outside(), Dst: f.Inside(), Write: true, Why: "where the tool comes to"})}
}

// fetchTool runs the package manager, in a sandbox that has an empty directory to read and
// one to write, the registries, and nothing else of the user's.
func fetchTool(ctx context.Context, c *command.Console, o launch.Options, f *toolbox.Fetch) error {
	s, err := session.Prepare(o)
	if err != nil {
		return err
	}
	defer s.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer null.Close()
	out, in, err := os.Pipe()
	if err != nil {
		return err
	}
	said := make(chan struct{})
	go func() {
		defer close(said)
		serverSays(c, f.Tool.Source, out)
	}()
	res, err := supervisor.Start(ctx, s, [3]*os.File{null, in, in}, supervisor.Talk{Before: func(cgroup.Report) error { return nil }, Warn: c.Warn, Say: func(text string) { c.Say("%s", command.Inert(text)) },
		Refused: func(text string) { c.Say("%s", command.Inert(text)) }})
	in.Close()
	<-said
	out.Close()
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return fault.New(fault.Failed, "", "fetching %s was interrupted", f.Tool)
	case res.Exit.Code() != 0:
		return fault.New(fault.Failed, "see what it did: ringfence log "+s.ID, "%s could not be fetched: %s ended with status %d", f.Tool, toolbox.Programs[f.Tool.Source], res.Exit.Code())
	}
	return nil
}

// buildNix has the host's own nix build a tool. That is its user's program and daemon, as in
// any other terminal; the name is all that is said to it. Where no session could fetch a tool,
// nix does not either.
func buildNix(ctx context.Context, c *command.Console, o launch.Options, f *toolbox.Fetch, program string) error {
	if _, err := session.Look(o); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, toolbox.NixBuild(f.Tool.Name)...)
	cmd.Dir, cmd.Stderr = "/", c.Err
	// What nix starts by itself is not to be the agent's either. The last value counts.
	cmd.Env = append(slices.Clone(c.Environ), "PATH="+filepath.Dir(program)+":/usr/local/bin:/usr/bin:/bin")
	out, err := cmd.Output()
	if err != nil {
		return fault.New(fault.Failed, "", "%s could not be built: %w", f.Tool, err)
	}
	return f.LinkNix(string(out))
}

func toolsList() *command.Command {
	cmd := &command.Command{Name: "tools ls", Args: "[--json]", Short: "list the tools of this project", Examples: []string{"ringfence tools ls"},
		Long: "Lists the tools that were fetched for the sessions of this project."}
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		s, err := projectHere(c)
		if err != nil {
			return 2, err
		}
		all, err := session.Box(s.Base).List()
		if err != nil {
			return 1, err
		}
		if *asJSON {
			if all == nil {
				all = []toolbox.Record{}
			}
			return 0, c.JSON(all)
		}
		if len(all) == 0 {
			c.Say("this project has no tools of its own; for example: ringfence tools add debian:jq")
			return 0, nil
		}
		var rows [][]string
		for _, r := range all {
			rows = append(rows, []string{r.Tool, fmt.Sprintf("%.1f MiB", float64(r.Size)/(1<<20)), r.Added.Local().Format(time.DateOnly), strings.Join(r.Commands, " ")})
		}
		return 0, c.Table([]string{"TOOL", "SIZE", "ADDED", "COMMANDS"}, rows)
	}
	return cmd
}

func toolsRemove() *command.Command {
	cmd := &command.Command{Name: "tools rm", Args: "SOURCE:NAME", Short: "remove a tool", Examples: []string{"ringfence tools rm debian:jq"}, Takes: command.One,
		Long: "Removes a tool from this project, also from a session that runs."}
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		t, s, err := chosenTool(c, args)
		if err != nil {
			return 2, err
		}
		emptied, err := session.Box(s.Base).Remove(t)
		if err != nil {
			return 1, err
		}
		if emptied {
			c.Say("the list of this project's tools could not be read: all of them were removed")
			return 0, nil
		}
		c.Say("removed %s", t)
		return 0, nil
	}
	return cmd
}
