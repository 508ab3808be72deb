package cli

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/supervisor"
)

func runCommand() *command {
	return launchCommand(&command{name: "run", args: "[flags] -- CMD [ARGS]", short: "run a command in a sandbox",
		long:     "Runs a command in a sandbox that has nothing of the host but what policy put there.",
		examples: []string{"ringfence run -- make test", "ringfence run --net none --ro ~/datasets -- ls ~/datasets", "ringfence run --dry-run -- true"}})
}

func shellCommand() *command {
	return launchCommand(&command{name: "shell", args: "[flags]", short: "open a shell in a sandbox",
		long:     "Opens a shell in a sandbox that has nothing of the host but what policy put there.",
		examples: []string{"ringfence shell", "ringfence shell --review"}})
}

func agentCommand(name, short string, examples ...string) *command {
	return launchCommand(&command{name: name, args: "[flags] [-- ARGS]", short: short, examples: examples,
		long: "Runs the agent in a sandbox that has nothing of the host but what policy put there.\nWhat follows -- goes to the agent."})
}

// launchCommand is run, shell and every agent: one road into the sandbox.
func launchCommand(cmd *command) *command {
	cmd.takes = takesRaw
	l := newLaunchFlags(cmd)
	cmd.flags.begin("for the start")
	l.interactive()
	cmd.flags.StringVar(&l.name, "name", "", "call the session `NAME`; no other that runs may be called so")
	cmd.flags.BoolVar(&l.keep, "keep", false, "let the session outlive this terminal; ringfence attach comes back to it")
	cmd.flags.BoolVar(&l.detach, "d", false, "start it, print its id and leave it alone; implies --keep")
	cmd.flags.Var(&l.dryRun, "dry-run", "print the plan and start nothing; =json for programs; =bwrap as a bubblewrap command, which holds the values of variables")
	cmd.run = func(c *console, args []string) (int, error) {
		if err := source.NoCore(); err != nil {
			return 125, err
		}
		status, err := c.launch(cmd, l, args)
		if err != nil && fault.KindOf(err) == fault.Usage {
			// Any status below 125 could be the agent's own.
			c.explain(err)
			return 125, nil
		}
		return status, err
	}
	return cmd
}

func (c *console) launch(cmd *command, l *launchFlags, args []string) (int, error) {
	if err := cmd.parseFlags(args); err != nil {
		return 125, forAgent(cmd.name, args, err)
	}
	if sys.Cgo {
		return 125, fault.New(fault.Failed, "build with `make build`", "this binary was built with cgo and cannot drop privileges on all its threads")
	}
	agentName, command, err := c.command(cmd.name, cmd.flags.Args(), args)
	if err != nil {
		return 125, err
	}
	opt, err := l.options(c, agentName, command)
	if err != nil {
		return 125, err
	}
	if (l.keep || l.detach) && c.kept == nil && l.dryRun == "" {
		return c.startKept(cmd.name, args, l)
	}
	opt.Look = l.dryRun != ""
	if !opt.Look {
		c.welcome()
	}
	s, err := session.Prepare(opt)
	if err != nil {
		return fault.ExitStatus(err), err
	}
	defer s.Close()
	if l.dryRun != "" {
		return 0, c.printPlan(s, l.dryRun)
	}
	return c.start(s, l)
}

// forAgent says where a flag goes that is the agent's and not ours.
func forAgent(name string, args []string, err error) error {
	if errors.Is(err, flag.ErrHelp) || name == "run" || name == "shell" || !strings.Contains(err.Error(), "not defined") {
		return err
	}
	return fault.New(fault.Usage, fmt.Sprintf("ringfence %s -- %s", name, strings.Join(args, " ")), "%s; what is meant for the agent goes behind --", err)
}

// command splits what to run from what was typed.
func (c *console) command(name string, rest, typed []string) (agentName string, args []string, err error) {
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
		return agent.Command, []string{session.Shell(c.getenv)}, nil
	}
	if len(rest) > 0 && !slices.Contains(typed, "--") {
		return "", nil, fault.New(fault.Usage, fmt.Sprintf("ringfence %s -- %s", name, strings.Join(rest, " ")),
			"what is meant for the agent goes behind --")
	}
	return name, rest, nil
}

func (c *console) printPlan(s *session.Session, form dryRun) error {
	switch form {
	case "json":
		return c.writeJSON(s.Plan.Redacted())
	case "bwrap":
		return s.Plan.Bwrap(c.out)
	}
	w := bufio.NewWriter(c.out)
	s.Plan.Text(w)
	fmt.Fprintf(w, "network    %s\nmemory     %s\n", network(s), memory(s.Limits.Memory))
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

func (c *console) start(s *session.Session, l *launchFlags) (int, error) {
	std := [3]*os.File{c.in, c.out, c.err}
	talk := terminal.IsTerminal(c.err) && !c.quiet || l.verbose
	before := func(report cgroup.Report) error {
		c.card(s, report, talk)
		if talk && !l.yes && !l.noInput && !l.detach && terminal.IsTerminal(c.in) && worthPause(s) {
			if err := c.pause(); err != nil {
				return err
			}
		}
		if err := s.Shown(); err != nil {
			fmt.Fprintf(c.err, "ringfence: warning: %s\n", inert(err.Error()))
		}
		return nil
	}
	res, err := supervisor.Start(context.Background(), s, std, supervisor.Talk{Before: before,
		Warn:     func(text string) { fmt.Fprintf(c.err, "ringfence: warning: %s\n", inert(text)) },
		Say:      c.sayer(talk),
		Ending:   func() (func(int), func()) { return c.progress("looking at what changed", 0) },
		Person:   !l.noInput && !l.detach && terminal.IsTerminal(c.in) && terminal.IsTerminal(c.err),
		Terminal: c.kept})
	if err != nil {
		return fault.ExitStatus(err), err
	}
	c.summary(s, res, talk)
	if l.noInput {
		c.workJSON(res)
	} else {
		c.workSummary(res, talk)
	}
	return res.Exit.Code(), nil
}

// sayer tells what happens while the agent runs, where that is wanted and the screen
// is not the agent's.
func (c *console) sayer(talk bool) func(string) {
	if !talk {
		return nil
	}
	return func(text string) { fmt.Fprintf(c.err, "ringfence: %s\n", inert(text)) }
}

// worthPause: the user is stopped only where something beyond the built-in came
// in, or something asked for did not.
func worthPause(s *session.Session) bool {
	return len(s.Env.Of(environ.Added)) > 0 || len(s.Ignored) > 0 || len(s.Policy.Files.Expose) > 0 || len(s.Warnings) > 0 || s.Trees.Untrusted.New
}

func (c *console) pause() error {
	fmt.Fprint(c.err, "Press Enter to start, Ctrl-C to leave. (--yes skips this) ")
	if _, err := bufio.NewReader(c.in).ReadString('\n'); err != nil {
		return fault.New(fault.Refused, "", "not started")
	}
	return nil
}

// card says what is about to start. Without a terminal only what is out of the
// ordinary is said: a pipe stays clean.
func (c *console) card(s *session.Session, report cgroup.Report, talk bool) {
	w := bufio.NewWriter(c.err)
	defer w.Flush()
	for _, ch := range s.Ignored {
		fmt.Fprintf(w, "ringfence: not trusted, ignored: %s\n", ch)
	}
	if len(s.Ignored) > 0 {
		fmt.Fprintln(w, "ringfence: hint: `ringfence trust` accepts the project's file as it is now")
	}
	if r := report.Pids; r.Want > 0 && !r.Enforced() { // of the built-in policy: what was asked for holds, or nothing starts
		fmt.Fprintf(w, "ringfence: warning: the limit of %d processes is not enforced: %s\n", r.Want, r.Why)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(w, "ringfence: warning: %s\n", warning)
	}
	c.untrusted(w, s, talk)
	if !talk {
		return
	}
	fmt.Fprintf(w, "ringfence %s · %s · native\n", s.ID, s.Profile.Title)
	for _, ws := range s.Workspaces {
		mode := s.View(ws)
		fmt.Fprintf(w, "  workspace  %s %s\n", mode, plan.Show(ws.Path))
	}
	fmt.Fprintf(w, "  walls      %d of %d   network  %s\n", len(s.Plan.Walls), len(plan.AllWalls()), network(s))
	fmt.Fprintf(w, "  limits     %s\n", limits(report))
	fmt.Fprintf(w, "  trifecta   %s\n", s.Trifecta().Line(audit.UTF8(c.getenv)))
	for i, p := range s.Trees.Masked() {
		fmt.Fprintf(w, "  %-10s %s\n", []string{"masked", ""}[min(i, 1)], p)
	}
	for i, p := range s.Trees.InHistory() {
		fmt.Fprintf(w, "  %-10s %s: a secret is in git's history, where no mask keeps it\n", []string{"not masked", ""}[min(i, 1)], plan.Show(p))
	}
	for i, k := range s.Keys {
		fmt.Fprintf(w, "  %-10s %s\n", []string{"brokered", ""}[min(i, 1)], inert(k))
	}
	writeAudit(w, s.Env, false)
	for _, p := range s.Dropped {
		fmt.Fprintf(w, "  not in PATH %s\n", p)
	}
	for _, n := range s.Notices {
		fmt.Fprintf(w, "  note       %s\n", wrapText(n, 13, 80))
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
func (c *console) killed(s *session.Session, res supervisor.Result) {
	switch {
	case res.OOM == 0:
	case res.Full && s.Limits.Memory > 0:
		fmt.Fprintf(c.err, "ringfence: killed at the memory limit of %s: %d process%s; --memory SIZE sets another limit\n", plan.Size(s.Limits.Memory), res.OOM, plural(int(res.OOM), "", "es"))
	default:
		fmt.Fprintf(c.err, "ringfence: killed because the machine had no memory left: %d process%s\n", res.OOM, plural(int(res.OOM), "", "es"))
	}
}

// summary closes the session for a person.
func (c *console) summary(s *session.Session, res supervisor.Result, talk bool) {
	if talk && terminal.IsTerminal(c.err) {
		fmt.Fprintln(c.err) // the agent may have left the cursor anywhere
	}
	c.killed(s, res)
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
	fmt.Fprintf(c.err, "ringfence %s ended: %s after %s\n", s.ID, how, res.Time.Round(10*time.Millisecond))
	c.netSummary(s, res.Net)
	for _, name := range res.Decoys {
		fmt.Fprintf(c.err, "  decoy      %q was read inside: somebody looked for credentials; see ringfence log %s\n", name, s.ID)
	}
}
