// Package cli is the command line: one file a command, and the only writer to a
// terminal. Data goes to stdout and talk to stderr; nothing asks without a
// terminal; nothing is coloured, so NO_COLOR is always honoured.
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/fault"
)

// context is what every command gets: the three streams and the environment.
type context struct {
	in, out, err *os.File
	environ      []string
	help         func() // explains the command whose flags were made last
}

func (c *context) getenv(name string) string {
	for _, e := range c.environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// command is one row of the table below.
type command struct {
	name, args, short string
	hidden            bool
	run               func(c *context, name string, args []string) (int, error)
}

func commands() []command {
	return []command{
		{name: "run", args: "[flags] -- CMD [ARGS]", short: "run a command in a sandbox", run: launch},
		{name: "shell", args: "[flags]", short: "open a shell in a sandbox", run: launch},
		{name: "claude", args: "[flags] [-- ARGS]", short: "run Claude Code in a sandbox", run: launch},
		{name: "codex", args: "[flags] [-- ARGS]", short: "run Codex in a sandbox", run: launch},
		{name: "gemini", args: "[flags] [-- ARGS]", short: "run Gemini CLI in a sandbox", run: launch},
		{name: "opencode", args: "[flags] [-- ARGS]", short: "run opencode in a sandbox", run: launch},
		{name: "env", args: "[flags]", short: "show what of the environment comes inside, by name", run: showEnv},
		{name: "policy", args: "show|check|groups|schema [flags]", short: "show or check the effective policy", run: policyCommand},
		{name: "diff", args: "[SESSION] [PATH...] [flags]", short: "show what a session changed, and what the host would run of it", run: diff},
		{name: "apply", args: "[SESSION] [PATH...] [flags]", short: "bring to the host what waits in a session", run: apply},
		{name: "discard", args: "[SESSION] [PATH...] [flags]", short: "forget what waits in a session", run: discard},
		{name: "undo", args: "[SESSION] [PATH...] [flags]", short: "bring back what a session changed or deleted on the host", run: undo},
		{name: "rm", args: "SESSION [--discard]", short: "forget a session and what could be undone of it", run: remove},
		{name: "requests", args: "[SESSION] [--json]", short: "show which hosts running sessions want and may not reach", run: requests},
		{name: "grant", args: "SESSION --host HOST[:PORT] [flags]", short: "allow a host in a running session", run: grant},
		{name: "stop", args: "SESSION", short: "end a running session", run: stop},
		{name: "thaw", args: "SESSION", short: "let a frozen session go on", run: thaw},
		{name: "log", args: "[SESSION] [flags]", short: "show what a session's gate decided", run: log},
		{name: "secret", args: "set|ls|rm|test [NAME] [flags]", short: "keep, list, remove or try the secrets of the host", run: secretCommand},
		{name: "trust", args: "[flags]", short: "accept the project's .ringfence.toml and .ringfence.env as they are now", run: trust},
		{name: "doctor", args: "[--json]", short: "show what this host can enforce", run: doctor},
		{name: "verify", args: "[--json]", short: "prove every defence in a throw-away sandbox", run: verifyCommand},
		{name: "drill", args: "[DRILL... | all] [--json]", short: "play known incidents under your policy, in a throw-away workspace", run: drillCommand},
		{name: "gc", args: "[flags]", short: "remove stale state of projects and sessions", run: gc},
		{name: "version", short: "print the version", run: version},
		{name: "help", args: "[COMMAND]", short: "explain a command", run: help},
	}
}

// Main runs one command and returns its exit status.
func Main(args []string, in, out, err *os.File) int {
	openStandard()
	c := &context{in: in, out: out, err: err, environ: os.Environ()}
	if e := closeInherited(); e != nil {
		c.explain(fault.New(fault.Failed, "ringfence needs Linux 5.11 or later", "close inherited descriptors: %w", e))
		return 125
	}
	status, fail := c.dispatch(args)
	if fail == nil {
		return status
	}
	if errors.Is(fail, flag.ErrHelp) {
		return 0
	}
	c.explain(fail)
	if status == 0 {
		status = fault.ExitStatus(fail)
	}
	return status
}

func (c *context) dispatch(args []string) (int, error) {
	if len(args) < 2 {
		c.usage(c.err)
		return 2, nil
	}
	name, rest := args[1], args[2:]
	switch name {
	case "-h", "--help", "-help":
		c.usage(c.out)
		return 0, nil
	case "--version":
		name = "version"
	case "--check":
		name = "doctor"
	}
	if status, done := internalCommand(name, rest); done {
		return status, nil
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			return cmd.run(c, name, rest)
		}
	}
	if c.userAgent(name) {
		return launch(c, name, rest)
	}
	return 2, fault.New(fault.Usage, "run `ringfence help` for the list of commands", "unknown command %q%s", name, nearest(name))
}

func nearest(name string) string {
	for _, cmd := range commands() {
		if len(name) > 2 && (strings.HasPrefix(cmd.name, name) || strings.HasPrefix(name, cmd.name)) {
			return fmt.Sprintf(" (did you mean %q?)", cmd.name)
		}
	}
	return ""
}

// explain prints an error and the one command that helps.
func (c *context) explain(err error) {
	fmt.Fprintf(c.err, "ringfence: error: %s\n", inert(err.Error()))
	if h := fault.HintOf(err); h != "" {
		fmt.Fprintf(c.err, "ringfence: hint: %s\n", inert(h))
	}
}

// inert is the last look at text that may hold names of the workspace: no control
// character reaches the terminal, and no second line looks like one of ours.
func inert(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString("\n  ")
		case r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) || r == utf8.RuneError:
			fmt.Fprintf(&b, "\\u%04x", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (c *context) usage(w io.Writer) {
	fmt.Fprint(w, "ringfence runs an AI coding agent in a sandbox built from nothing.\n\nUsage:\n")
	width := 0
	for _, cmd := range commands() {
		width = max(width, len(cmd.name)+1+len(cmd.args))
	}
	width = min(width, 30)
	for _, cmd := range commands() {
		head := strings.TrimSpace(cmd.name + " " + cmd.args)
		short := wrapText(cmd.short, width+14, 80)
		if len(head) > width {
			fmt.Fprintf(w, "  ringfence %s\n  %*s%s\n", head, width+12, "", short)
			continue
		}
		fmt.Fprintf(w, "  ringfence %-*s  %s\n", width, head, short)
	}
	fmt.Fprint(w, "\nThere is no flag that switches the sandbox off: who wants none runs the bare\nagent.\n")
}

func help(c *context, _ string, args []string) (int, error) {
	if len(args) == 0 {
		c.usage(c.out)
		return 0, nil
	}
	if c.userAgent(args[0]) {
		return launch(c, args[0], []string{"--help"})
	}
	i := slices.IndexFunc(commands(), func(cmd command) bool { return cmd.name == args[0] })
	if i < 0 {
		return 2, fault.New(fault.Usage, "run `ringfence help` for the list of commands", "unknown command %q", args[0])
	}
	return commands()[i].run(c, args[0], []string{"--help"})
}

// flags makes a flag set whose errors are ours and whose help goes to stdout.
func (c *context) flags(name, args, about string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	c.help = func() { c.explainFlags(f, args, about) }
	return f
}

// explainFlags prints the help of one command, in 80 columns.
func (c *context) explainFlags(f *flag.FlagSet, args, about string) {
	fmt.Fprintf(c.out, "usage: ringfence %s\n\n%s\n\nflags:\n", strings.TrimSpace(f.Name()+" "+args), about)
	f.VisitAll(func(fl *flag.Flag) {
		arg, text := flag.UnquoteUsage(fl)
		head := strings.TrimSpace(fl.Name + " " + arg)
		fmt.Fprintf(c.out, "  --%-23s %s\n", head, wrapText(text, 28, 80))
	})
}

// wrapText breaks text into lines of at most width, continued at indent.
func wrapText(text string, indent, width int) string {
	var b strings.Builder
	col := indent
	for i, word := range strings.Fields(text) {
		if i > 0 && col+1+len(word) > width {
			b.WriteString("\n" + strings.Repeat(" ", indent))
			col = indent
		} else if i > 0 {
			b.WriteByte(' ')
			col++
		}
		b.WriteString(word)
		col += len(word)
	}
	return b.String()
}

// parse reads flags; a wrong one is a usage error that names the command's help.
func (c *context) parse(f *flag.FlagSet, args []string) error {
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		c.help()
		return err
	}
	if err == nil {
		return nil
	}
	// The flag package names flags with one dash; people type two.
	text := strings.ReplaceAll(err.Error(), ": -", ": --")
	text = strings.ReplaceAll(text, "flag -", "flag --")
	return fault.New(fault.Usage, fmt.Sprintf("run `ringfence %s --help`", f.Name()), "%s: %s", f.Name(), text)
}

// sessionThenFlags is parse for commands whose flags may follow the session.
func (c *context) sessionThenFlags(f *flag.FlagSet, args []string) (id string, err error) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		id, args = args[0], args[1:]
	}
	if err := c.parse(f, args); err != nil {
		return "", err
	}
	if id == "" && f.NArg() == 1 {
		return f.Arg(0), nil
	}
	if f.NArg() > 0 {
		return "", fault.New(fault.Usage, fmt.Sprintf("run `ringfence %s --help`", f.Name()), "%s takes no argument %q", f.Name(), f.Arg(0))
	}
	return id, nil
}

func isSet(f *flag.FlagSet, name string) (set bool) {
	f.Visit(func(fl *flag.Flag) { set = set || fl.Name == name })
	return set
}

// parseAll is parse for commands that take no arguments.
func (c *context) parseAll(f *flag.FlagSet, args []string) error {
	if err := c.parse(f, args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fault.New(fault.Usage, fmt.Sprintf("run `ringfence %s --help`", f.Name()), "%s takes no argument %q", f.Name(), f.Arg(0))
	}
	return nil
}
