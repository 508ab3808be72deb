package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/credentials/source"
	"ringfence.dev/ringfence/internal/explain/learn"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/workspace/change"
)

// learnFlags are the flags of learn besides those of a launch.
type learnFlags struct {
	*rules.Flags
	save, project, json, show, forget bool
}

// learnCommand runs a command behind all walls, notes what it asked for in vain, and
// proposes the smallest policy that would have given it.
func learnCommand() *command.Command {
	cmd := &command.Command{Name: "learn", Args: "[flags] -- CMD [ARGS] | [flags] AGENT [-- ARGS]", Short: "run a command, and propose the smallest policy for it",
		Long:     "Runs a command in a sandbox with all walls up, notes which files, hosts and variables it\nasked for in vain, and proposes the smallest policy for it as a diff. Credentials stay\noutside; a public host that no rule speaks of is reached and noted. Nothing is saved\nunless you say so.",
		Examples: []string{"ringfence learn -- make test", "ringfence learn claude -- -p 'run the tests'", "ringfence learn --show"},
		Takes:    command.Rest}
	l, f := &learnFlags{}, &cmd.Flags
	f.BoolVar(&l.save, "save", false, "write what is proposed into the policy file")
	f.BoolVar(&l.project, "project", false, "propose for the project's .ringfence.toml, not for your own policy")
	f.BoolVar(&l.json, "json", false, "print the proposal as JSON; the command's output goes to stderr")
	f.BoolVar(&l.show, "show", false, "run nothing: propose from what earlier sessions saw")
	f.BoolVar(&l.forget, "forget", false, "run nothing: forget what earlier sessions of this project saw")
	l.Flags = rules.NewFlags(cmd)
	f.Begin("for the start")
	l.Interactive()
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if err := source.NoCore(); err != nil {
			return 125, err
		}
		if l.show || l.forget {
			return learnt(c, l)
		}
		who, argv, err := learnFrom(c, args, cmd.Typed)
		if err != nil {
			return 2, err
		}
		opt, err := l.Options(c, who, argv)
		if err != nil {
			return 2, err
		}
		opt.Learn = true
		return study(c, l, opt)
	}
	return cmd
}

// learnFrom tells a command from an agent: the one stands behind --, the other does not.
func learnFrom(c *command.Console, rest, typed []string) (who string, argv []string, err error) {
	if len(rest) == 0 {
		return "", nil, fault.New(fault.Usage, "for example: ringfence learn -- make test", "learn needs a command")
	}
	if at := len(typed) - len(rest); at > 0 && typed[at-1] == "--" {
		return agent.Command, rest, nil
	}
	names, err := rules.Agents(c)
	if err != nil {
		return "", nil, err
	}
	switch {
	case !slices.Contains(names, rest[0]):
		return "", nil, fault.New(fault.Usage, "ringfence learn -- "+strings.Join(rest, " "), "%q is no agent; a command stands behind --", rest[0])
	case len(rest) > 1 && rest[1] != "--":
		return "", nil, fault.New(fault.Usage, fmt.Sprintf("ringfence learn %s -- %s", rest[0], strings.Join(rest[1:], " ")), "what is meant for the agent goes behind --")
	case len(rest) > 1:
		return rest[0], rest[2:], nil
	}
	return rest[0], nil, nil
}

// study runs the session and proposes.
func study(c *command.Console, l *learnFlags, opt launch.Options) (int, error) {
	s, err := session.Prepare(opt)
	if err != nil {
		return fault.ExitStatus(err), err
	}
	defer s.Close()
	c.Say("learning: all walls stand; %s", learnPosture(s))
	out := c.Out
	if l.json {
		c.Out = c.Err
	}
	end, err := start(c, s, l.Flags)
	c.Out = out
	if err != nil {
		return fault.ExitStatus(err), err
	}
	seen, sessions, err := s.Book().Add(s.Lesson(), time.Now())
	if err != nil {
		return 1, err
	}
	if status := end.Result.Exit.Code(); status != 0 {
		c.Say("the command ended with status %d", status)
	}
	opt.Learn = false
	return propose(c, l, opt, s, seen, sessions)
}

// learnPosture says what becomes of hosts that no rule speaks of.
func learnPosture(s *session.Session) string {
	switch {
	case s.Mode() == launch.ModeNone:
		return "there is no network"
	case s.Reach.Learn:
		return "unknown public hosts are reached and noted"
	}
	return "hosts are as in mode " + s.Reach.Mode + ", and are noted"
}

// learnt works with what earlier sessions saw.
func learnt(c *command.Console, l *learnFlags) (int, error) {
	if l.Set.NArg() > 0 || l.show && l.forget {
		return 2, fault.New(fault.Usage, "run `ringfence learn --help`", "--show and --forget stand alone")
	}
	opt, err := l.Options(c, agent.Command, nil)
	if err != nil {
		return 2, err
	}
	s, err := session.LookNetwork(opt)
	if err != nil {
		return 2, err
	}
	if l.forget {
		if err := s.Book().Forget(); err != nil {
			return 1, err
		}
		c.Say("what was learnt of %s is forgotten", plan.Show(s.ProjectDir()))
		return 0, nil
	}
	seen, sessions, err := s.Book().Read()
	if err != nil {
		return 1, err
	}
	return propose(c, l, opt, s, seen, sessions)
}

// proposed is what learn has to say, for programs.
type proposed struct {
	Sessions int    `json:"sessions"`
	File     string `json:"file"`
	learn.Proposal
	Diff  string `json:"diff"`
	Saved bool   `json:"saved"`
}

// propose prints what is proposed, and saves it if a person says so.
func propose(c *command.Console, l *learnFlags, opt launch.Options, s *session.Session, seen learn.Seen, sessions int) (int, error) {
	p, err := enforceable(opt, learn.Propose(seen, s.Situation()))
	if err != nil {
		return 1, err
	}
	out := proposed{Sessions: sessions, Proposal: p}
	if out.File, err = learnFile(c, l, s); err != nil {
		return 1, err
	}
	old, err := policy.ReadFile(out.File, l.project)
	if err != nil {
		return 1, err
	}
	var add []policy.Addition
	for _, line := range p.Lines {
		add = append(add, policy.Addition{Section: line.Section, Key: line.Key, Value: line.Value, Comment: line.Comment()})
	}
	text, err := policy.Append(old, out.File, add)
	if err != nil {
		return 1, err
	}
	name := plan.Show(out.File)
	out.Diff = string(change.Unified(name, name, old, text))
	notProposed(c, l, seen, p)
	if !l.json {
		for line := range strings.Lines(out.Diff) {
			fmt.Fprintln(c.Out, command.Inert(strings.TrimSuffix(line, "\n")))
		}
	}
	if out.Diff == "" {
		c.Say("there is nothing to propose")
	} else if out.Saved, err = saveLesson(c, l, out.File, old, text); err != nil {
		return 1, err
	}
	if l.json {
		return 0, c.JSONLine(out)
	}
	return 0, nil
}

// learnFile is the file that the proposal is for.
func learnFile(c *command.Console, l *learnFlags, s *session.Session) (string, error) {
	if l.project {
		return filepath.Join(s.ProjectDir(), policy.ProjectFile), nil
	}
	dirs, err := c.Dirs()
	return filepath.Join(dirs.Config, "policy.toml"), err
}

// saveLesson writes the file where a person said so: at a terminal, or by --save.
func saveLesson(c *command.Console, l *learnFlags, file string, old, text []byte) (bool, error) {
	where := "for all projects"
	if l.project {
		where = "for this project"
	}
	if !l.save && !confirmSave(c, l, fmt.Sprintf("Write this into %s, %s?", plan.Show(file), where)) {
		return false, nil
	}
	if err := policy.Save(file, old, text, l.project); err != nil {
		return false, fault.New(fault.Failed, "run it again", "not saved: %w", err)
	}
	c.Say("saved in %s", plan.Show(file))
	if l.project {
		c.Say("hint: a project's file adds nothing until you accept it: ringfence trust")
	}
	return true, nil
}

func confirmSave(c *command.Console, l *learnFlags, question string) bool {
	if l.NoInput || l.json || !c.Person() {
		c.Say("nothing was saved; --save writes it")
		return false
	}
	return c.Confirm(question, false)
}

// notProposed says what was wanted and stays outside.
func notProposed(c *command.Console, l *learnFlags, seen learn.Seen, p learn.Proposal) {
	for _, n := range p.Not {
		if !l.json {
			c.Say("wanted and not proposed: %s (%s)", plan.Show(n.What), n.Why)
		}
	}
	if seen.More {
		c.Say("more was asked for than is kept: this is not all of it")
	}
}

// enforceable drops lines with which no session would start, and says why.
func enforceable(opt launch.Options, p learn.Proposal) (learn.Proposal, error) {
	before, err := session.Findings(opt)
	if err != nil {
		return p, err
	}
	stops := func(lines []learn.Line) (string, error) {
		with := opt
		with.Flags = policy.Merge(opt.Flags, learn.Policy(lines))
		found, err := session.Findings(with)
		found = slices.DeleteFunc(found, func(f string) bool { return slices.Contains(before, f) })
		if err != nil || len(found) == 0 {
			return "", err
		}
		return found[0], nil
	}
	why, err := stops(p.Lines)
	if err != nil || why == "" {
		return p, err
	}
	var kept []learn.Line
	for _, line := range p.Lines {
		why, err := stops([]learn.Line{line})
		if err != nil {
			return p, err
		}
		if why == "" {
			kept = append(kept, line)
		} else {
			p.Not = append(p.Not, learn.Not{What: line.Value, Why: why})
		}
	}
	p.Lines = kept
	return p, nil
}
