package cli

import (
	"bufio"
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/cli/rules"
	"ringfence.dev/ringfence/internal/cli/sessions"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/session"
)

// card says what is about to start.
type card struct {
	c      *command.Console
	s      *session.Session
	report cgroup.Report
}

// show tells a person three lines, or everything. Without a terminal only what is unusual
// is said: a pipe stays clean.
func (k card) show(talk, verbose bool) {
	if talk && !verbose {
		k.short()
		return
	}
	k.long(talk)
}

// long is everything there is to tell.
func (k card) long(talk bool) {
	w := bufio.NewWriter(k.c.Err)
	defer w.Flush()
	rules.Unusual(w, k.s, k.report, talk)
	if !talk {
		return
	}
	all := k.s.Card(k.report)
	fmt.Fprintf(w, "ringfence %s\n", command.Inert(all.Head))
	for _, r := range all.Rows {
		if !r.Said {
			sessions.WriteRow(w, r)
		}
	}
}

// short is what every start says: the project and how it is shown, the network, and what
// is unusual. What a repository would run is told in full once, before somebody is asked
// to go on.
func (k card) short() {
	w := bufio.NewWriter(k.c.Err)
	defer w.Flush()
	if k.s.Trees.Untrusted.New {
		rules.Untrusted(w, k.s, true)
	}
	all := k.s.Card(k.report)
	var where []string
	for _, r := range all.Rows {
		if r.Key == "workspace" {
			where = append(where, r.Text)
		}
	}
	width := command.Columns(k.c.Err)
	fmt.Fprintf(w, "ringfence %s · %s\n", command.Inert(all.Head), command.Inert(strings.Join(where, ", ")))
	fmt.Fprintf(w, "  network    %s\n", command.Inert(all.Network))
	fmt.Fprintf(w, "  unusual    %s\n", unusual(all.Unusual, width-13))
}

// unusual puts as many of the words as fit on one line, and counts the rest.
func unusual(all []string, width int) string {
	if len(all) == 0 {
		return "nothing"
	}
	const between, rest = " · ", " · %d more: ringfence status"
	line := ""
	for i, text := range all {
		text = command.Inert(strings.Join(strings.Fields(text), " "))
		if i > 0 {
			text = line + between + text
		}
		more := ""
		if left := len(all) - i - 1; left > 0 {
			more = fmt.Sprintf(rest, left)
		}
		if len([]rune(text+more)) > width {
			if i == 0 {
				return command.Cut(text, max(width-len([]rune(more)), 1)) + more
			}
			return line + fmt.Sprintf(rest, len(all)-i)
		}
		line = text
	}
	return line
}

// worthPause: the user is stopped only where something beyond the built-in came
// in, or something asked for did not.
func (k card) worthPause() bool {
	s := k.s
	return len(s.Env.Of(environ.Added)) > 0 || len(s.Ignored) > 0 || len(s.Policy.Files.Expose) > 0 || len(s.Warnings) > 0 || s.Trees.Untrusted.New
}

// pause lets a person see everything before anything runs.
func (k card) pause() error {
	in := bufio.NewReader(k.c.In)
	for {
		fmt.Fprint(k.c.Err, "Press Enter to start, ? and Enter to see everything, Ctrl-C to leave. (--yes skips this) ")
		line, err := in.ReadString('\n')
		if err != nil {
			return fault.New(fault.Refused, "", "not started")
		}
		if strings.TrimSpace(line) != "?" {
			return nil
		}
		k.long(true)
	}
}
