package rules

import (
	"fmt"
	"io"
	"strings"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
)

// Unusual says before a start what somebody has to know who is shown no card, or all of
// it.
func Unusual(w io.Writer, s *session.Session, report cgroup.Report, talk bool) {
	trusted := false // would help
	for _, ch := range s.Ignored {
		trusted = trusted || ch.Never == ""
		fmt.Fprintf(w, "ringfence: %s\n", ch.Ignored())
	}
	if trusted {
		fmt.Fprintln(w, "ringfence: hint: `ringfence trust` accepts the project's file as it is now")
	}
	if r := report.Pids; r.Want > 0 && !r.Enforced() { // of the built-in policy: what was asked for holds, or nothing starts
		fmt.Fprintf(w, "ringfence: warning: the limit of %d processes is not enforced: %s\n", r.Want, r.Why)
	}
	for _, warning := range s.Warnings {
		fmt.Fprintf(w, "ringfence: warning: %s\n", warning)
	}
	Untrusted(w, s, talk)
}

// Untrusted tells of what a repository brings before its agent starts: in full once,
// in a line after that.
func Untrusted(w io.Writer, s *session.Session, talk bool) {
	u := &s.Trees.Untrusted
	if !u.Complete && (talk || u.First) {
		fmt.Fprintln(w, "ringfence: not all of this tree was looked at; `ringfence scan` looks further")
	}
	if len(u.Findings) == 0 {
		return
	}
	if !u.New {
		if talk {
			fmt.Fprintf(w, "  not trusted %d settings of the project, shown before; see ringfence scan\n", len(u.Findings))
		}
		return
	}
	const most, ofOne = 16, 2 // lines, and of one file: none hides the others
	fmt.Fprintln(w, "ringfence: opening this repository would run or change something:")
	told, of := 0, map[string]int{}
	for _, f := range u.Findings {
		if of[f.Path]++; of[f.Path] > ofOne || told == most {
			continue
		}
		told++
		where := plan.Show(f.Path)
		if f.Line > 0 {
			where += fmt.Sprintf(":%d", f.Line)
		}
		how := "shown as it is"
		if f.Cured {
			how = "taken out inside"
		}
		fmt.Fprintf(w, "ringfence:   %s %s: %s (%s)\n", f.ID, where, strings.TrimSpace(command.Inert(f.What)), how)
	}
	if told < len(u.Findings) {
		fmt.Fprintf(w, "ringfence:   and %d more\n", len(u.Findings)-told)
	}
	fmt.Fprintln(w, "ringfence: hint: `ringfence scan` explains it, `ringfence trust` accepts exactly this")
}
