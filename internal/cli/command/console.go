// Package command is what every command is made of: its flags, its help, and the console
// that it prints to. Data goes to stdout and talk to stderr; nothing asks without a
// terminal; nothing is coloured without one, nor where NO_COLOR is set.
package command

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/state"
)

// Console is what every command gets: the three streams and the environment.
type Console struct {
	In, Out, Err *os.File
	Environ      []string
	Kept         *control.Terminal // where a session that stays is held; else nil
	Quiet        bool              // who started it is not to be talked to
}

// Getenv is the value of a variable of the user.
func (c *Console) Getenv(name string) string { return Getenv(c.Environ, name) }

// Getenv is the value of a variable in an environment.
func Getenv(environ []string, name string) string {
	for _, e := range environ {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// Say talks to a person. Whatever is told, no terminal obeys it.
func (c *Console) Say(format string, args ...any) {
	fmt.Fprintf(c.Err, "ringfence: %s\n", Inert(fmt.Sprintf(format, args...)))
}

// Warn tells of what stops nothing.
func (c *Console) Warn(text string) { c.Say("warning: %s", text) }

// Typing reports whether a person's words come in.
func (c *Console) Typing() bool { return terminal.IsTerminal(c.In) }

// Person reports whether somebody is there to be asked.
func (c *Console) Person() bool { return c.Typing() && terminal.IsTerminal(c.Err) }

// Explain prints an error and the one command that helps.
func (c *Console) Explain(err error) {
	c.Say("error: %s", err)
	hint := fault.HintOf(err)
	if hint == "" && (errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)) {
		hint = "df -h shows which disk is full; ringfence gc removes what ended sessions left"
	}
	if hint != "" {
		c.Say("hint: %s", hint)
	}
}

// Inert is the last look at text that may hold names of the workspace: no control
// character reaches the terminal, and no second line looks like one of ours.
func Inert(s string) string {
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

// Wrap breaks text into lines of at most width, continued at indent.
func Wrap(text string, indent, width int) string {
	return strings.Join(wrapCell(text, width-indent, false), "\n"+strings.Repeat(" ", indent))
}

// Plural chooses the word for a number.
func Plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// Cut keeps a line within a terminal.
func Cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// Dirs is where the user's policy and state are.
func (c *Console) Dirs() (state.Dirs, error) {
	return state.XDG(c.Getenv, c.Getenv("HOME"))
}

// Confirm asks a person; without one the answer is no.
func (c *Console) Confirm(question string, never bool) bool {
	if never || !c.Person() {
		c.Say("nothing was changed; --yes does it without asking")
		return false
	}
	fmt.Fprintf(c.Err, "%s [y/N] ", question)
	line, _ := bufio.NewReader(c.In).ReadString('\n')
	return strings.EqualFold(strings.TrimSpace(line), "y")
}

// JSON prints for programs, in ASCII: JSON alone leaves characters that a terminal
// obeys.
func (c *Console) JSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	return c.writeASCII(b, err)
}

// JSONLine is JSON on one line.
func (c *Console) JSONLine(v any) error {
	b, err := json.Marshal(v)
	return c.writeASCII(b, err)
}

func (c *Console) writeASCII(b []byte, err error) error {
	if err == nil {
		_, err = c.Out.Write(append(ASCII(b), '\n'))
	}
	return err
}

// ASCII escapes what a terminal could obey: JSON itself leaves much of it as it is.
func ASCII(b []byte) []byte {
	var out []byte
	for _, r := range string(b) {
		switch {
		case r < 0x7f:
			out = append(out, byte(r))
		case r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, hi, lo)
		}
	}
	return out
}
