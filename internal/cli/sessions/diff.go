package sessions

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/terminal"
	"ringfence.dev/ringfence/internal/workspace/change"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Diff shows what a session changed, what the host would run of it first.
func Diff() *command.Command {
	cmd := &command.Command{Name: "diff", Args: "[SESSION] [PATH...] [flags]", Short: "show what a session changed, and what the host would run of it",
		Long:     "Shows everything that a session changed: what waits for `ringfence apply`, and what is\nlive on the host. What the host would run stands first. Without SESSION the latest\nof this project that left something. The exit status is 1 if anything changed.",
		Examples: []string{"ringfence diff", "ringfence diff --patch"},
		Takes:    command.Many}
	f := &cmd.Flags
	asJSON := f.Bool("json", false, "print JSON")
	stat := f.Bool("stat", false, "print how many lines each file gained and lost")
	patch := f.Bool("patch", false, "print the differences in the form of git")
	cmd.Run = func(c *command.Console, args []string) (int, error) {
		if (*asJSON && *stat) || (*asJSON && *patch) || (*stat && *patch) {
			return 2, fault.New(fault.Usage, "", "--json, --stat and --patch exclude each other")
		}
		ch, err := choose(c, args, (*chosen).any)
		if err != nil {
			if fault.KindOf(err) == fault.Failed && len(args) == 0 && !*asJSON {
				c.Say("%s", err)
				return 0, nil
			}
			return 2, err
		}
		r := ch.part()
		switch {
		case *asJSON:
			err = printJSON(c, r)
		case *stat:
			err = printStat(c, r)
		case *patch:
			err = printPatch(c, r)
		default:
			printReport(c, r)
		}
		if err == nil {
			err = ch.failed
		}
		switch {
		case err != nil:
			return 2, err
		case len(r.Entries) > 0:
			return 1, nil
		}
		return 0, nil
	}
	return cmd
}

func printJSON(c *command.Console, r *review.Report) error {
	b, err := r.JSON()
	if err == nil {
		_, err = c.Out.Write(append(b, '\n'))
	}
	return err
}

func printStat(c *command.Console, r *review.Report) error {
	w := bufio.NewWriter(c.Out)
	defer w.Flush()
	return r.Lines(func(e *review.Entry, added, removed int, ok bool) {
		lines := fmt.Sprintf("+%d -%d", added, removed)
		if !ok {
			lines = "-"
		}
		fmt.Fprintf(w, "%-4s %-5s %-12s %s\n", mark(e.Kind()), e.State, lines, shownPath(r, e))
	})
}

// printPatch takes the control characters out if a terminal would obey them.
func printPatch(c *command.Console, r *review.Report) error {
	if !terminal.IsTerminal(c.Out) {
		return r.Patch(c.Out)
	}
	var b bytes.Buffer
	if err := r.Patch(&b); err != nil {
		return err
	}
	w := bufio.NewWriter(c.Out)
	defer w.Flush()
	for line := range strings.Lines(b.String()) {
		fmt.Fprintln(w, command.Inert(strings.TrimSuffix(line, "\n")))
	}
	return nil
}

// printReport is the review for people: data to stdout, what to do next to stderr.
func printReport(c *command.Console, r *review.Report) {
	w := r.Work
	switch {
	case len(r.Entries) == 0 && w.Undone():
		c.Say("session %s is undone: ringfence undo --redo %s brings its changes back", w.ID, w.ID)
	case len(r.Entries) == 0 && w.Source != "":
		c.Say("session %s changed nothing here; what it committed is in its clone: git fetch %s", w.ID, w.ID)
	case len(r.Entries) == 0:
		c.Say("session %s changed nothing", w.ID)
	default:
		head := fmt.Sprintf("session %s, %s, began %s", w.ID, w.Agent, w.Started.Local().Format(time.DateTime))
		fmt.Fprintln(c.Out, command.Inert(head))
		printRanked(c.Out, r)
	}
	for _, lost := range r.Lost {
		c.Say("cannot be undone: %s", lost)
	}
	for _, note := range r.Notes {
		c.Say("%s", note)
	}
	if w.Elsewhere() && !w.Running() {
		c.Say("more of it may wait on another machine: ringfence attach %s fetches it", w.ID)
	}
	if n := len(r.Waiting()); n > 0 {
		c.Say("%s: ringfence apply %s, or discard %s", counted(n, "waits", "wait"), w.ID, w.ID)
	}
	if n := len(r.Live()); n > 0 {
		c.Say("%s live: ringfence undo %s brings back what was", counted(n, "is", "are"), w.ID)
	}
}

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 change " + one
	}
	return fmt.Sprintf("%d changes %s", n, more)
}

// headings are the ranks for people.
var headings = map[hostexec.Rank]string{
	hostexec.Unasked: "runs without anyone asking",
	hostexec.Asked:   "runs when asked",
	hostexec.Secret:  "secrets",
	hostexec.Source:  "source",
}

// reasonIndent is where the path and the reasons below it begin.
const reasonIndent = 13

func printRanked(to io.Writer, r *review.Report) {
	w := bufio.NewWriter(to)
	defer w.Flush()
	rank := hostexec.Rank(-1)
	for i := range r.Entries {
		e := &r.Entries[i]
		if e.Rank != rank {
			rank = e.Rank
			fmt.Fprintf(w, "\n%s\n", headings[rank])
		}
		fmt.Fprintf(w, "  %-4s %-5s %s\n", mark(e.Kind()), e.State, shownPath(r, e))
		for _, reason := range reasons(e) {
			fmt.Fprintf(w, "%*s%s\n", reasonIndent, "", command.Wrap(command.Inert(reason), reasonIndent, 80))
		}
	}
}

// reasons are the lines below an entry: all that was found, or what the path says.
func reasons(e *review.Entry) []string {
	var out []string
	for _, f := range e.Findings {
		if f.Rank == hostexec.Source {
			out = append(out, f.Why)
			continue
		}
		where := ""
		if f.Line > 0 {
			where = fmt.Sprintf("line %d: ", f.Line)
		}
		out = append(out, where+f.Who+", "+f.When+": "+f.Why)
	}
	for i := range out {
		if strings.HasSuffix(out[i], e.Text) {
			return out
		}
	}
	if e.Text != "" {
		out = append([]string{e.Text}, out...)
	}
	return out
}

func mark(k change.Kind) string {
	switch k {
	case change.Added:
		return "A"
	case change.Deleted:
		return "D"
	case change.Renamed:
		return "R"
	case change.Mode:
		return "mode"
	}
	return "M"
}

// shownPath is a path for terminals: in its tree if there is only one.
func shownPath(r *review.Report, e *review.Entry) string {
	if e.From != "" {
		return showIn(r.Work, e.Tree, e.From) + " => " + showIn(r.Work, e.Tree, e.Path)
	}
	return showIn(r.Work, e.Tree, e.Path)
}

func showIn(w *review.Work, tree int, rel string) string {
	if len(w.Trees) > 1 {
		rel = filepath.Join(w.Trees[tree].Path, rel)
	}
	return plan.Show(rel)
}
