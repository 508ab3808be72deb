// Package cli is the command line: one file a command, and the only writer to a
// terminal. Data goes to stdout and talk to stderr; nothing asks without a
// terminal; nothing is coloured without one, nor where NO_COLOR is set.
package cli

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	golog "log"
	"os"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/cli/docgen"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/session/detached"
)

// context is what every command gets: the three streams and the environment.
type context struct {
	in, out, err *os.File
	environ      []string
	kept         *detached.Terminal // where a session that stays is held; else nil
	quiet        bool               // who started it is not to be talked to

	usageOf  usage           // of the command whose flags were made last
	examples []string        // of the command that runs
	verbs    []verb          // that it could have been told to run
	asked    *docgen.Command // what it says of itself, when it is only asked
}

// usage is what flags alone do not tell of a command.
type usage struct{ args, about string }

func (c *context) getenv(name string) string {
	for _, e := range c.environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// Main runs one command and returns its exit status.
func Main(args []string, in, out, err *os.File) int {
	return newContext(in, out, err).main(args)
}

func newContext(in, out, err *os.File) *context {
	openStandard()
	golog.SetOutput(io.Discard) // net/http says there what a server can make it say, and the terminal is the person's
	return &context{in: in, out: out, err: err, environ: os.Environ()}
}

func (c *context) main(args []string) int {
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
	if name == docgen.Asked {
		return c.complete(rest), nil
	}
	for _, cmd := range commands() {
		if cmd.name == name {
			c.examples = cmd.examples
			return cmd.run(c, name, rest)
		}
	}
	if c.userAgent(name) {
		return launch(c, name, rest)
	}
	return 2, fault.New(fault.Usage, "run `ringfence help` for the list of commands", "unknown command %q%s", name, nearest(name))
}

func nearest(name string) string {
	var names []string
	for _, cmd := range commands() {
		names = append(names, cmd.name)
	}
	return suggest(name, names)
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
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return s // as nearly all is
	}
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
	fmt.Fprint(w, "ringfence runs an AI coding agent in a sandbox built from nothing.\n\nusage: ringfence COMMAND [flags] [ARGS]\n")
	for _, g := range groups() {
		fmt.Fprintf(w, "\n%s\n", g.title)
		for _, cmd := range g.commands {
			fmt.Fprintf(w, "  %-11s %s\n", cmd.name, wrapText(cmd.short, 14, 80))
		}
	}
	fmt.Fprint(w, "\n`ringfence help COMMAND` explains one, with examples. There is no flag that\nswitches the sandbox off: who wants none runs the bare agent.\n")
}

func help(c *context, name string, args []string) (int, error) {
	f := c.flags(name, "[COMMAND] [SUBCOMMAND]", "Explains a command: its arguments, its flags, and how it is used. Without one it lists\nall of them.")
	if err := c.parse(f, args); err != nil {
		return 2, err
	}
	if f.NArg() == 0 {
		c.usage(c.out)
		return 0, nil
	}
	i := slices.IndexFunc(commands(), func(cmd command) bool { return cmd.name == f.Arg(0) })
	if i < 0 && !c.userAgent(f.Arg(0)) {
		return 2, fault.New(fault.Usage, "run `ringfence help` for the list of commands", "unknown command %q%s", f.Arg(0), nearest(f.Arg(0)))
	}
	return c.dispatch(append([]string{"ringfence"}, append(f.Args(), "--help")...))
}

// flags makes a flag set whose errors are ours and whose help goes to stdout.
func (c *context) flags(name, args, about string) *flag.FlagSet {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	c.usageOf = usage{args, about}
	return f
}

// explainFlags prints the help of one command, in 80 columns.
func (c *context) explainFlags(f *flag.FlagSet) {
	w := bufio.NewWriter(c.out)
	defer w.Flush()
	fmt.Fprintf(w, "usage: ringfence %s\n", wrapText(f.Name()+" "+c.usageOf.args, 17, 80))
	for para := range strings.SplitSeq(c.usageOf.about, "\n\n") {
		fmt.Fprintf(w, "\n%s\n", wrapText(para, 0, 80))
	}
	section := func(title string) { fmt.Fprintf(w, "\n%s\n", c.paint(strong, title)) }
	if len(c.verbs) > 0 {
		section("subcommands:")
	}
	for _, v := range c.verbs {
		fmt.Fprintf(w, "  %-25s %s\n", v.name, wrapText(v.short, 28, 80))
	}
	if flagNames(f) != nil {
		section("flags:")
	}
	f.VisitAll(func(fl *flag.Flag) {
		arg, text := flag.UnquoteUsage(fl)
		head := strings.TrimSpace(docgen.Flag{Name: fl.Name}.Dashed() + " " + arg)
		fmt.Fprintf(w, "  %-25s %s\n", head, wrapText(text, 28, 80))
	})
	if len(c.examples) > 0 {
		section("examples:")
	}
	for _, e := range c.examples {
		fmt.Fprintf(w, "  %s\n", e)
	}
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
	if c.asked != nil {
		return c.tellFlags(f)
	}
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		c.explainFlags(f)
		return err
	}
	if err == nil {
		return nil
	}
	// The flag package names flags with one dash; people type two.
	text := strings.ReplaceAll(err.Error(), ": -", ": --")
	text = strings.ReplaceAll(text, "flag -", "flag --")
	if _, typed, unknown := strings.Cut(text, "not defined: "); unknown {
		text += suggest(typed, flagNames(f))
	}
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
