package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/cli/sessions"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/supervisor"
)

func runCommand() *command.Command {
	return launchCommand(&command.Command{Name: "run", Args: "[flags] -- CMD [ARGS]", Short: "run a command in a sandbox",
		Long:     "Runs a command in a sandbox that has nothing of the host but what policy put there.",
		Examples: []string{"ringfence run -- make test", "ringfence run --net none --ro ~/datasets -- ls ~/datasets", "ringfence run --dry-run -- true"}})
}

func shellCommand() *command.Command {
	return launchCommand(&command.Command{Name: "shell", Args: "[flags]", Short: "open a shell in a sandbox",
		Long:     "Opens a shell in a sandbox that has nothing of the host but what policy put there.",
		Examples: []string{"ringfence shell", "ringfence shell --review"}})
}

func agentCommand(name, short string, examples ...string) *command.Command {
	return launchCommand(&command.Command{Name: name, Args: "[flags] [-- ARGS]", Short: short, Examples: examples,
		Long: "Runs the agent in a sandbox that has nothing of the host but what policy put there.\nWhat follows -- goes to the agent."})
}

// launchCommand is run, shell and every agent: one road into the sandbox.
func launchCommand(cmd *command.Command) *command.Command {
	cmd.Takes = command.Raw
	l := rules.NewFlags(cmd)
	cmd.Flags.Begin("for the start")
	l.Interactive()
	cmd.Flags.StringVar(&l.Name, "name", "", "call the session `NAME`; no other that runs may be called so")
	cmd.Flags.BoolVar(&l.Keep, "keep", false, "let the session outlive this terminal; ringfence attach comes back to it")
	cmd.Flags.BoolVar(&l.Detach, "d", false, "start it, print its id and leave it alone; implies --keep")
	cmd.Flags.Var(&l.DryRun, "dry-run", "print the plan and start nothing; =json for programs; =bwrap as a bubblewrap command, which holds the values of variables")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if err := source.NoCore(); err != nil {
			return 125, err
		}
		status, err := begin(c, cmd, l, args)
		if err != nil && fault.KindOf(err) == fault.Usage {
			// Any status below 125 could be the agent's own.
			c.Explain(err)
			return 125, nil
		}
		return status, err
	}
	return cmd
}

func begin(c *command.Console, cmd *command.Command, l *rules.Flags, args []string) (int, error) {
	if err := cmd.ParseFlags(args); err != nil {
		return 125, forAgent(cmd.Name, args, err)
	}
	if sys.Cgo {
		return 125, fault.New(fault.Failed, "build with `make build`", "this binary was built with cgo and cannot drop privileges on all its threads")
	}
	agentName, argv, err := toRun(c, cmd.Name, cmd.Flags.Args(), args)
	if err != nil {
		return 125, err
	}
	opt, err := l.Options(c, agentName, argv)
	if err != nil {
		return 125, err
	}
	if (l.Keep || l.Detach) && c.Kept == nil && l.DryRun == "" {
		return startKept(c, cmd.Name, args, l)
	}
	opt.Look = l.DryRun != ""
	if !opt.Look {
		welcome(c)
	}
	s, err := session.Prepare(opt)
	if err != nil {
		return fault.ExitStatus(err), err
	}
	defer s.Close()
	if l.DryRun != "" {
		return 0, printPlan(c, s, l.DryRun)
	}
	return start(c, s, l)
}

// forAgent says where a flag goes that is the agent's and not ours.
func forAgent(name string, args []string, err error) error {
	var unknown command.UnknownFlag
	if name == "run" || name == "shell" || !errors.As(err, &unknown) {
		return err
	}
	return fault.New(fault.Usage, fmt.Sprintf("ringfence %s -- %s", name, strings.Join(args, " ")), "%s; what is meant for the agent goes behind --", err)
}

// toRun splits what to run from what was typed.
func toRun(c *command.Console, name string, rest, typed []string) (agentName string, args []string, err error) {
	switch name {
	case "run":
		if len(rest) == 0 {
			return "", nil, fault.New(fault.Usage, "for example: ringfence run -- make test", "run needs a command")
		}
		return agent.Command, rest, nil
	case "shell":
		if len(rest) > 0 {
			return "", nil, fault.New(fault.Usage, "use `ringfence run -- CMD`", "shell takes no argument %q", rest[0])
		}
		return agent.Command, []string{launch.Shell(c.Getenv)}, nil
	}
	if len(rest) > 0 && !slices.Contains(typed, "--") {
		return "", nil, fault.New(fault.Usage, fmt.Sprintf("ringfence %s -- %s", name, strings.Join(rest, " ")),
			"what is meant for the agent goes behind --")
	}
	return name, rest, nil
}

func printPlan(c *command.Console, s *session.Session, form rules.DryRun) error {
	switch form {
	case "json":
		return c.JSON(struct {
			Rung string `json:"rung"`
			*plan.Plan
		}{s.Where(), s.Plan.Redacted()})
	case "bwrap":
		return s.Plan.Bwrap(c.Out)
	}
	w := bufio.NewWriter(c.Out)
	s.Plan.Text(w)
	fmt.Fprintf(w, "network    %s\nmemory     %s\nrung       %s\n", network(s), memory(s.Limits.Memory), s.Where())
	return w.Flush()
}

// network says the posture in a few words.
func network(s *session.Session) string {
	if s.Plan.Capture == nil {
		return "none, own loopback only"
	}
	text := s.Reach.Mode
	var extra []string
	for _, n := range []struct {
		n    int
		what string
	}{{len(s.Policy.Network.Allow), "hosts"}, {len(s.Reach.IP), "addresses"}, {len(s.Reach.Publish), "published"}, {len(s.Reach.HostPorts), "host ports"}} {
		if n.n > 0 {
			extra = append(extra, fmt.Sprintf("+%d %s", n.n, n.what))
		}
	}
	if len(extra) > 0 {
		text += " (" + strings.Join(extra, ", ") + ")"
	}
	return text
}

func memory(n int64) string {
	if n == 0 {
		return "unlimited"
	}
	return "at most " + plan.Size(n)
}

func start(c *command.Console, s *session.Session, l *rules.Flags) (int, error) {
	std := [3]*os.File{c.In, c.Out, c.Err}
	talk := terminal.IsTerminal(c.Err) && !c.Quiet || l.Verbose
	before := func(report cgroup.Report) error {
		card(c, s, report, talk)
		if talk && !l.Yes && !l.NoInput && !l.Detach && c.Typing() && worthPause(s) {
			if err := pause(c); err != nil {
				return err
			}
		}
		if err := s.Shown(); err != nil {
			c.Warn(err.Error())
		}
		return nil
	}
	res, err := supervisor.Start(context.Background(), s, std, supervisor.Talk{Before: before,
		Warn:     c.Warn,
		Say:      sayer(c, talk),
		Ending:   func() (func(int), func()) { return c.Progress("looking at what changed", 0) },
		Person:   !l.NoInput && !l.Detach && c.Person(),
		Terminal: c.Kept})
	if err != nil {
		return fault.ExitStatus(err), err
	}
	summary(c, s, res, talk)
	if l.NoInput {
		sessions.WorkJSON(c, res)
	} else {
		sessions.WorkSummary(c, res, talk)
	}
	return res.Exit.Code(), nil
}

// sayer tells what happens while the agent runs, where that is wanted and the screen
// is not the agent's.
func sayer(c *command.Console, talk bool) func(string) {
	if !talk {
		return nil
	}
	return func(text string) { c.Say("%s", text) }
}

// worthPause: the user is stopped only where something beyond the built-in came
// in, or something asked for did not.
func worthPause(s *session.Session) bool {
	return len(s.Env.Of(environ.Added)) > 0 || len(s.Ignored) > 0 || len(s.Policy.Files.Expose) > 0 || len(s.Warnings) > 0 || s.Trees.Untrusted.New
}

func pause(c *command.Console) error {
	fmt.Fprint(c.Err, "Press Enter to start, Ctrl-C to leave. (--yes skips this) ")
	if _, err := bufio.NewReader(c.In).ReadString('\n'); err != nil {
		return fault.New(fault.Refused, "", "not started")
	}
	return nil
}

// card says what is about to start. Without a terminal only what is unusual is said: a
// pipe stays clean.
func card(c *command.Console, s *session.Session, report cgroup.Report, talk bool) {
	w := bufio.NewWriter(c.Err)
	defer w.Flush()
	rules.Unusual(w, s, report, talk)
	if !talk {
		return
	}
	fmt.Fprintf(w, "ringfence %s · %s · %s\n", s.ID, s.Profile.Title, s.Where())
	for _, ws := range s.Workspaces {
		mode := s.View(ws)
		fmt.Fprintf(w, "  workspace  %s %s\n", mode, plan.Show(ws.Path))
	}
	fmt.Fprintf(w, "  walls      %d of %d   network  %s\n", len(s.Plan.Walls), len(plan.AllWalls()), network(s))
	fmt.Fprintf(w, "  limits     %s\n", limits(report))
	fmt.Fprintf(w, "  trifecta   %s\n", s.Trifecta().Line(audit.UTF8(c.Getenv)))
	for i, p := range s.Trees.Masked() {
		fmt.Fprintf(w, "  %-10s %s\n", []string{"masked", ""}[min(i, 1)], p)
	}
	for i, p := range s.Trees.InHistory() {
		fmt.Fprintf(w, "  %-10s %s: a secret is in git's history, where no mask keeps it\n", []string{"not masked", ""}[min(i, 1)], plan.Show(p))
	}
	for i, k := range s.Keys {
		fmt.Fprintf(w, "  %-10s %s\n", []string{"brokered", ""}[min(i, 1)], command.Inert(k))
	}
	rules.WriteEnv(w, s.Env, false)
	for _, p := range s.Dropped {
		fmt.Fprintf(w, "  not in PATH %s\n", p)
	}
	for _, n := range s.Notices {
		fmt.Fprintf(w, "  note       %s\n", command.Wrap(n, 13, 80))
	}
}

func limits(r cgroup.Report) string {
	var out []string
	for _, l := range []struct {
		name string
		l    cgroup.Limit
		show func(int64) string
	}{{"processes", r.Pids, func(n int64) string { return fmt.Sprint(n) }}, {"memory", r.Memory, plan.Size}} {
		switch {
		case l.l.Want == 0:
			out = append(out, l.name+" unlimited")
		case l.l.Enforced():
			out = append(out, fmt.Sprintf("%s %s (%s)", l.name, l.show(l.l.Want), l.l.By))
		default:
			out = append(out, fmt.Sprintf("%s %s not enforced", l.name, l.show(l.l.Want)))
		}
	}
	return strings.Join(out, ", ")
}

// killed says that memory was not enough, also to a pipe: a status of 137 tells nobody why.
func killed(c *command.Console, s *session.Session, res supervisor.Result) {
	switch {
	case res.OOM == 0:
	case res.Full && s.Limits.Memory > 0:
		c.Say("killed at the memory limit of %s: %d process%s; --memory SIZE sets another limit", plan.Size(s.Limits.Memory), res.OOM, command.Plural(int(res.OOM), "", "es"))
	default:
		c.Say("killed because the machine had no memory left: %d process%s", res.OOM, command.Plural(int(res.OOM), "", "es"))
	}
}

// summary closes the session for a person.
func summary(c *command.Console, s *session.Session, res supervisor.Result, talk bool) {
	if talk && terminal.IsTerminal(c.Err) {
		fmt.Fprintln(c.Err) // the agent may have left the cursor anywhere
	}
	killed(c, s, res)
	if !talk {
		return
	}
	how := fmt.Sprintf("exit %d", res.Exit.Code())
	switch {
	case res.Exit.Killed:
		how = "the sandbox was killed"
	case res.Exit.Status.Signaled():
		how = fmt.Sprintf("killed by signal %d", res.Exit.Status.Signal())
	}
	fmt.Fprintf(c.Err, "ringfence %s ended: %s after %s\n", s.ID, how, res.Time.Round(10*time.Millisecond))
	sessions.NetSummary(c, s, res.Net)
	for _, name := range res.Decoys {
		fmt.Fprintf(c.Err, "  decoy      %q was read inside: somebody looked for credentials; see ringfence log %s\n", name, s.ID)
	}
}
