// Package cli is the command line: one file a command, and the only writer to a
// terminal. Data goes to stdout and talk to stderr; nothing asks without a
// terminal; nothing is coloured without one, nor where NO_COLOR is set.
package cli

import (
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

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session/control"
)

// console is what every command gets: the three streams and the environment.
type console struct {
	in, out, err *os.File
	environ      []string
	kept         *control.Terminal // where a session that stays is held; else nil
	quiet        bool              // who started it is not to be talked to
}

func (c *console) getenv(name string) string {
	for _, e := range c.environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// Role is what ringfence starts of itself by a first argument that nobody types.
type Role func(args []string) int

// Main runs one command, or one of the roles, and returns its exit status.
func Main(args []string, in, out, err *os.File, roles map[string]Role) int {
	return newConsole(in, out, err).main(args, roles)
}

func newConsole(in, out, err *os.File) *console {
	openStandard()
	golog.SetOutput(io.Discard) // net/http says there what a server can make it say, and the terminal is the person's
	return &console{in: in, out: out, err: err, environ: os.Environ()}
}

func (c *console) main(args []string, roles map[string]Role) int {
	if e := closeInherited(); e != nil {
		c.explain(fault.New(fault.Failed, "ringfence needs Linux 5.11 or later", "close inherited descriptors: %w", e))
		return 125
	}
	if len(args) > 1 && roles[args[1]] != nil {
		return roles[args[1]](args[2:])
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

func (c *console) dispatch(args []string) (int, error) {
	if len(args) < 2 {
		usage(c.err)
		return 2, nil
	}
	name, rest := args[1], args[2:]
	switch name {
	case "-h", "--help", "-help":
		usage(c.out)
		return 0, nil
	case "--version":
		name = "version"
	case "--check":
		name = "doctor"
	case completeArg:
		return c.complete(rest), nil
	}
	cmd := c.find(name)
	if cmd == nil {
		return 2, unknownCommand(name)
	}
	if cmd.instead != "" && terminal.IsTerminal(c.err) {
		fmt.Fprintf(c.err, "ringfence: warning: %s\n", cmd.instead)
	}
	return c.execute(cmd, rest)
}

// find returns the command of a name: ours, an older name of one, or an agent of the user's.
func (c *console) find(name string) *command {
	for _, cmd := range slices.Concat(commands(), oldNames()) {
		if cmd.name == name {
			return cmd
		}
	}
	if c.userAgent(name) {
		return agentCommand(name, "run "+name+" in a sandbox")
	}
	return nil
}

// explain prints an error and the one command that helps.
func (c *console) explain(err error) {
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
