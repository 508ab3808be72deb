package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/cli/checks"
	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/cli/sessions"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/policy/agent"
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
	return launchCommand(&command.Command{Name: name, Args: "[flags] [[--] ARGS]", Short: short, Examples: examples,
		Long: "Runs the agent in a sandbox that has nothing of the host but what policy put there.\nFlags of ringfence come first. From the first word on that is none, and behind --, all\ngoes to the agent; a flag that both know needs -- to go there."})
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
	cmd.Flags.StringVar(&l.Summary, "summary", "", "write how it ended as JSON to `FILE`, or to an open descriptor by its number")
	cmd.Flags.Var(&l.DryRun, "dry-run", "print the plan and start nothing; =json for programs; =bwrap as a bubblewrap command, which holds the values of variables")
	cmd.Flags.Also("yes", "y")
	instead := insteadFlags(cmd)
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if err := source.NoCore(); err != nil {
			return 125, err
		}
		status, err := begin(c, cmd, l, instead, args)
		if err != nil && fault.KindOf(err) == fault.Usage {
			// Any status below 125 could be the agent's own.
			c.Explain(err)
			return 125, nil
		}
		return status, err
	}
	return cmd
}

// insteadFlags are what people of other sandboxes type to get something else than a
// launch. No list shows them: here each is a command.
func insteadFlags(cmd *command.Command) map[string]*bool {
	out := map[string]*bool{}
	for _, name := range []string{"check", "gc", "shell"} {
		out[name] = cmd.Flags.Bool(name, false, "")
	}
	return out
}

// runInstead runs the command that such a flag stands for; done is false where none was
// given.
func runInstead(c *command.Console, instead map[string]*bool, typed []string) (status int, err error, done bool) {
	for flag, cmd := range map[string]func() *command.Command{"check": checks.Doctor, "gc": sessions.GC, "shell": shellCommand} {
		if !*instead[flag] {
			continue
		}
		if now := cmd(); len(typed) == 1 {
			status, err = c.Execute(now, nil)
		} else { // what else was typed would be lost
			status, err = 125, fault.New(fault.Usage, "ringfence "+now.Name+" takes flags of its own", "--%s stands alone", flag)
		}
		return status, err, true
	}
	return 0, nil, false
}

func begin(c *command.Console, cmd *command.Command, l *rules.Flags, instead map[string]*bool, args []string) (status int, err error) {
	rest, err := parseLaunch(c, cmd, args)
	if err != nil {
		return 125, err
	}
	if status, err, done := runInstead(c, instead, args); done {
		return status, err
	}
	if l.Summary == "" || l.DryRun != "" || staysBeside(c, l) {
		_, status, err = launchOne(c, cmd, l, args, rest)
		return status, err
	}
	sink, err := sessions.OpenSink(l.Summary)
	if err != nil {
		return 125, fault.New(fault.Usage, "", "--summary: %w", err)
	}
	defer sink.Close()
	end, status, err := launchOne(c, cmd, l, args, rest)
	if lost := sink.Write(end, status, err); lost != nil {
		c.Warn(fmt.Sprintf("the summary was not written: %v", lost))
	}
	return status, err
}

// staysBeside holds where another process of ours has the session, which outlives this one.
func staysBeside(c *command.Console, l *rules.Flags) bool {
	return (l.Keep || l.Detach) && c.Kept == nil && l.DryRun == ""
}

// launchOne goes from what was typed, of which rest is no flag of ours, to the end of a
// session; end is nil where none ran here.
func launchOne(c *command.Console, cmd *command.Command, l *rules.Flags, typed, rest []string) (end *sessions.End, status int, err error) {
	if sys.Cgo {
		return nil, 125, fault.New(fault.Failed, "build with `make build`", "this binary was built with cgo and cannot drop privileges on all its threads")
	}
	agentName, argv, err := toRun(c, cmd.Name, rest)
	if err != nil {
		return nil, 125, err
	}
	opt, err := l.Options(c, agentName, argv)
	if err != nil {
		return nil, 125, err
	}
	if staysBeside(c, l) {
		if _, err := strconv.Atoi(l.Summary); err == nil {
			return nil, 125, fault.New(fault.Usage, "name a file", "--summary %s: a session that stays has no descriptor of yours", l.Summary)
		}
		status, err = startKept(c, cmd.Name, typed, l)
		return nil, status, err
	}
	opt.Look = l.DryRun != ""
	greet := !opt.Look && newcomer(c)
	if !opt.Look && !l.Yes && !l.NoInput && !l.Detach && c.Person() {
		opt.AskServers = func(names []string) bool { return comeAlong(c, names) }
	}
	s, err := session.Prepare(opt)
	if errors.Is(err, launch.ErrSeveral) && meansAll(c, l, err) {
		opt.AllRepos = true
		s, err = session.Prepare(opt)
	}
	if err != nil {
		return nil, fault.ExitStatus(err), err
	}
	defer s.Close()
	if l.DryRun != "" {
		return nil, 0, printPlan(c, s, l.DryRun)
	}
	if greet {
		welcome(c)
	}
	if end, err = start(c, s, l); err != nil {
		return nil, fault.ExitStatus(err), err
	}
	return end, end.Result.Exit.Code(), nil
}

// meansAll asks whether all repositories of a directory are to be shown. Nobody to ask is a
// no, and the error says which flag is a yes.
func meansAll(c *command.Console, l *rules.Flags, err error) bool {
	if l.NoInput || l.Detach || !c.Person() {
		return false
	}
	c.Say("%s", err)
	return c.Confirm("Show them all?", false)
}

// comeAlong asks about MCP servers of the host that no table of policy names.
func comeAlong(c *command.Console, names []string) bool {
	for i, n := range names {
		names[i] = plan.Show(n)
	}
	c.Say("MCP servers of your settings: %s", strings.Join(names, ", "))
	return c.Confirm("Start them, each in a sandbox of its own?", false)
}

// toRun says what is run, of what was typed behind the flags.
func toRun(c *command.Console, name string, rest []string) (agentName string, args []string, err error) {
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
	return name, rest, nil
}

// parseLaunch reads the flags of ours, and returns the rest.
func parseLaunch(c *command.Console, cmd *command.Command, args []string) (rest []string, err error) {
	if cmd.Name == "run" || cmd.Name == "shell" {
		err = cmd.ParseFlags(args)
		return cmd.Flags.Args(), err
	}
	ours, theirs, err := forAgent(cmd, knownFlags(c, cmd.Name), args)
	if err != nil {
		return nil, err
	}
	return theirs, cmd.ParseFlags(ours)
}

func printPlan(c *command.Console, s *session.Session, form rules.DryRun) error {
	switch form {
	case "json":
		return c.JSON(struct {
			Rung string `json:"rung"`
			*plan.Plan
		}{s.Where(), s.Plan.Redacted()})
	case "bwrap":
		return supervisor.Settled(s).Bwrap(c.Out)
	}
	w := bufio.NewWriter(c.Out)
	s.Plan.Text(w)
	fmt.Fprintf(w, "network    %s\nmemory     %s\nrung       %s\n", s.Network(), memory(s.Limits.Memory), s.Where())
	return w.Flush()
}

func memory(n int64) string {
	if n == 0 {
		return "unlimited"
	}
	return "at most " + plan.Size(n)
}

// start runs the session, and tells of its beginning and its end.
func start(c *command.Console, s *session.Session, l *rules.Flags) (*sessions.End, error) {
	std := [3]*os.File{c.In, c.Out, c.Err}
	talk := terminal.IsTerminal(c.Err) && !c.Quiet || l.Verbose
	before := func(report cgroup.Report) error {
		told := card{c: c, s: s, report: report}
		told.show(talk, l.Verbose)
		if talk && !l.Yes && !l.NoInput && !s.Policy.Posture().Silent && !l.Detach && c.Typing() && told.worthPause() {
			if err := told.pause(); err != nil {
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
		Refused:  func(text string) { c.Say("%s", text) },
		Person:   !l.NoInput && !s.Policy.Posture().Silent && !l.Detach && c.Person(),
		Terminal: c.Kept})
	if err != nil {
		return nil, err
	}
	end := &sessions.End{C: c, Session: s, Result: res, Talk: talk, Long: l.Verbose}
	if talk && terminal.IsTerminal(c.Err) {
		fmt.Fprintln(c.Err) // the agent may have left the cursor anywhere
	}
	killed(c, s, res)
	if !l.NoInput || l.Verbose {
		end.Tell()
	}
	return end, nil
}

// sayer tells what happens while the agent runs, where that is wanted and the screen
// is not the agent's.
func sayer(c *command.Console, talk bool) func(string) {
	if !talk {
		return nil
	}
	return func(text string) { c.Say("%s", text) }
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
