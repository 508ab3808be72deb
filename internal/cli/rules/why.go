package rules

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

const aboutWhy = `Says what becomes of a path, a host, a variable or a push in a session: allowed or not,
by which wall, by which rule of which file and line, the smallest grant that would
change it, and what else that grant would allow. The flags of a launch say for which
launch. --last explains the last refusal of a session, by its id or name: of the newest if none is named.`

// Why explains what a session may do, without starting one.
func Why() *command.Command {
	cmd := &command.Command{Name: "why", Args: "--last [SESSION] | PATH | HOST[:PORT] | NAME [flags]", Short: "say which rule decides, and what the smallest grant would allow",
		Long:     aboutWhy,
		Examples: []string{"ringfence why ~/.ssh/id_ed25519", "ringfence why api.example.org:443", "ringfence why --last"},
		Takes:    command.Many}
	last := cmd.Flags.Bool("last", false, "explain the last refusal of a session")
	kinds := map[why.Kind]*bool{
		why.Path: cmd.Flags.Bool("path", false, "the subject is a path"),
		why.Host: cmd.Flags.Bool("host", false, "the subject is a host"),
		why.Env:  cmd.Flags.Bool("variable", false, "the subject is a variable of your environment"),
		why.Push: cmd.Flags.Bool("push", false, "the subject is a branch to push to"),
	}
	who := cmd.Flags.String("agent", agent.Command, "`NAME` of the agent that would be launched")
	asJSON := cmd.Flags.Bool("json", false, "print JSON")
	l := NewFlags(cmd)
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if launch.Nested() {
			return 2, fault.New(fault.Refused, "ask the user to run there: ringfence why "+strings.Join(args, " "),
				"this is the inside of a sandbox: its policy is answered for outside; %s says what holds here", launch.NotePath)
		}
		kind, err := forced(kinds)
		if err != nil {
			return 2, err
		}
		if *last {
			return whyLast(c, l, *who, args, *asJSON)
		}
		if len(args) != 1 {
			hint := "ringfence why PATH, HOST[:PORT] or NAME; ringfence why --last"
			if len(args) == 0 && len(l.env) > 0 {
				hint = fmt.Sprintf("--env is a flag of the launch; to ask about a variable: ringfence why --variable %s", l.env[0])
			}
			return 2, fault.New(fault.Usage, hint, "why takes one subject, not %d", len(args))
		}
		if kind == "" {
			if kind, err = why.KindOf(args[0], seen(c, args[0])); err != nil {
				return 2, fault.New(fault.Usage, "ringfence why --help", "why: %w", err)
			}
		}
		w, err := world(c, l, *who)
		if err != nil {
			return 2, err
		}
		a, err := ask(c, w, kind, args[0])
		if err != nil {
			return 2, err
		}
		if *asJSON {
			return 0, c.JSON(a)
		}
		out := bufio.NewWriter(c.Out)
		writeAnswer(out, a, policyFile(c))
		return 0, out.Flush()
	}
	return cmd
}

// forced is the kind that a flag says; "" if none does.
func forced(kinds map[why.Kind]*bool) (why.Kind, error) {
	var said []why.Kind
	for k, on := range kinds {
		if *on {
			said = append(said, k)
		}
	}
	if len(said) > 1 {
		return "", fault.New(fault.Usage, "say one", "why: the subject is one of a path, a host, a variable and a branch")
	}
	if len(said) == 0 {
		return "", nil
	}
	return said[0], nil
}

// seen looks for what a word could be.
func seen(c *command.Console, word string) why.Seen {
	_, err := os.Lstat(word)
	return why.Seen{File: err == nil, Variable: slices.ContainsFunc(c.Environ, func(e string) bool { return strings.HasPrefix(e, word+"=") })}
}

// world prepares the session that the flags would start, to look at it.
func world(c *command.Console, l *Flags, agentName string) (*why.World, error) {
	opt, err := l.Options(c, agentName, []string{"/bin/sh"})
	if err != nil {
		return nil, err
	}
	opt.Look = true
	s, err := session.Prepare(opt)
	if err != nil {
		return nil, err
	}
	return s.World(), nil
}

// ask asks the resolver.
func ask(c *command.Console, w *why.World, kind why.Kind, subject string) (*why.Answer, error) {
	switch kind {
	case why.Host:
		t, err := why.Target(subject)
		if err != nil {
			return nil, fault.New(fault.Usage, "name a host, or HOST:PORT", "%q: %w", subject, err)
		}
		return w.AboutHost(t), nil
	case why.Env:
		if err := policy.Admit("env", "pass", subject); err != nil {
			return nil, fault.New(fault.Usage, "", "%w", err)
		}
		return w.AboutEnv(subject), nil
	case why.Push:
		return w.AboutPush(subject), nil
	}
	if rest, ok := strings.CutPrefix(subject, "~"); ok && (rest == "" || rest[0] == '/') {
		subject = c.Getenv("HOME") + rest
	}
	abs, err := filepath.Abs(subject)
	if err != nil {
		return nil, err
	}
	return w.AboutPath(abs), nil
}

// policyFile is where the user's own rules are written.
func policyFile(c *command.Console) string {
	dirs, err := c.Dirs()
	if err != nil {
		return "your policy.toml"
	}
	file := filepath.Join(dirs.Config, "policy.toml")
	if rel, ok := strings.CutPrefix(file, c.Getenv("HOME")+"/"); ok {
		return "~/" + rel
	}
	return file
}

// refusal is the last one of a session, and what would become of it now.
type refusal struct {
	Session string       `json:"session"`
	Record  why.Recorded `json:"record"`
	Said    bool         `json:"said"` // the host was allowed, and what was said to it was not
	Now     *why.Answer  `json:"now,omitempty"`
	Still   bool         `json:"still"`
}

// whyLast explains the last refusal in a journal.
func whyLast(c *command.Console, l *Flags, agentName string, rest []string, asJSON bool) (int, error) {
	if len(rest) > 1 {
		return 2, fault.New(fault.Usage, "ringfence why --last SESSION", "why --last takes at most one session")
	}
	dirs, err := c.Dirs()
	if err != nil {
		return 1, err
	}
	dir := dirs.Journal()
	rec, id, err := lastRefusal(dir, rest)
	if err != nil {
		return 1, err
	}
	if !l.Set.IsSet("agent") {
		agentName = agentOf(dir, id, agentName)
	}
	out := refusal{Session: id, Record: why.Recall(rec)}
	if out.Record.Kind != "" {
		w, err := world(c, l, agentName)
		if err != nil {
			return 2, err
		}
		if out.Now, err = ask(c, w, out.Record.Kind, out.Record.Subject); err != nil {
			return 2, err
		}
		out.Said = why.ForWords(rec, out.Now.Of(out.Record.Access)) || passedFirst(dir, rec, id)
		out.Still = out.Said || out.Record.Still(out.Now)
	}
	if asJSON {
		return 0, c.JSON(out)
	}
	w := bufio.NewWriter(c.Out)
	writeRefusal(w, &out, policyFile(c))
	return 0, w.Flush()
}

// lastRefusal finds it: of the session that is named, or of the newest that has one.
func lastRefusal(dir string, rest []string) (journal.Record, string, error) {
	if len(rest) == 1 {
		info, err := journal.Find(dir, rest[0])
		if err != nil {
			return journal.Record{}, "", fault.New(fault.Failed, "`ringfence log` alone shows the newest", "no record of session %q: %w", rest[0], err)
		}
		rest[0] = info.Session
	}
	if len(rest) == 0 {
		list, err := journal.List(dir)
		if err != nil {
			return journal.Record{}, "", err
		}
		for _, info := range list {
			rest = append(rest, info.Session)
		}
	}
	for _, id := range rest {
		rec, err := journal.Last(dir, id, why.Refused)
		if err == nil {
			return rec, id, nil
		}
		if !errors.Is(err, journal.ErrNoRecord) {
			return rec, id, fault.New(fault.Failed, "`ringfence log` alone shows the newest", "no record of session %q: %w", id, err)
		}
	}
	return journal.Record{}, "", fault.New(fault.Failed, "ask about a path, a host or a variable: ringfence why PATH", "no session has a refusal on record")
}

// agentOf is the agent that a session ran; other if its journal does not say.
func agentOf(dir, id, other string) string {
	begin, err := journal.Last(dir, id, func(r journal.Record) bool {
		return r.Kind == journal.Session && r.Event == journal.Begin
	})
	if err != nil || begin.Agent == "" {
		return other
	}
	return begin.Agent
}

// passedFirst says whether the connection of a refusal had passed before: then it was
// refused for what was said on it.
func passedFirst(dir string, rec journal.Record, id string) bool {
	if rec.Conn == 0 {
		return false
	}
	_, err := journal.Last(dir, id, func(r journal.Record) bool {
		return r.Kind == journal.Net && r.Event == journal.Decision && r.Conn == rec.Conn && r.Verdict == journal.Allow && r.Seq < rec.Seq
	})
	return err == nil
}
