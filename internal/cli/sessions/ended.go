package sessions

import (
	"bytes"
	"encoding/json"
	"fmt"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// maxShown keeps the summary on one screen. What it leaves out is counted, and
// `ringfence diff` never leaves out anything.
const maxShown = 12

// WorkSummary says at the end of a session what waits, what changed, and what
// comes next.
func WorkSummary(c *command.Console, res session.Result, talk bool) {
	r := res.Review
	if r == nil {
		return
	}
	waits, live := r.Waiting(), r.Live()
	if talk || important(r) {
		changeSummary(c, res, waits, live, talk)
	}
	if w := r.Work; w.Source != "" {
		if waits, err := w.Waits(); waits && err == nil {
			fmt.Fprintf(c.Err, "  waits      commits in the clone that the repository has not: git fetch %s\n", w.ID)
		}
	}
	lostSummary(c, r)
	goneSummary(c, r.Outside)
}

func noteList(c *command.Console, r *review.Report) {
	for _, note := range r.Notes {
		fmt.Fprintf(c.Err, "             note: %s\n", command.Inert(note))
	}
}

// changeSummary is what changed, or waits to.
func changeSummary(c *command.Console, res session.Result, waits, live []review.Entry, talk bool) {
	r, id := res.Review, res.Review.Work.ID
	if len(waits) > 0 {
		fmt.Fprintf(c.Err, "  waits      %d for review%s\n", len(waits), ranked(waits))
		shortList(c, r, waits)
		noteList(c, r)
		fmt.Fprintf(c.Err, "             see: ringfence diff %s; then: ringfence apply or discard\n", id)
	}
	if n := len(res.Applied); n > 0 && talk {
		fmt.Fprintf(c.Err, "  applied    %d held file%s that make%s git run nothing\n", n, command.Plural(n, "", "s"), command.Plural(n, "s", ""))
	}
	if len(live) > 0 {
		fmt.Fprintf(c.Err, "  changed    %d on the host%s\n", len(live), ranked(live))
		shortList(c, r, executed(live))
		if len(waits) == 0 {
			noteList(c, r)
		}
		fmt.Fprintf(c.Err, "             ringfence undo %s brings back what was\n", id)
	}
}

// lostSummary says what cannot be brought back, also to a pipe.
func lostSummary(c *command.Console, r *review.Report) {
	if n := len(r.Lost); n > 0 {
		fmt.Fprintf(c.Err, "  not kept   undo will not bring back %d file%s\n", n, command.Plural(n, "", "s"))
	}
	for i, lost := range r.Lost {
		if i == maxGone {
			fmt.Fprintf(c.Err, "             see all: ringfence diff %s --json\n", r.Work.ID)
			return
		}
		fmt.Fprintf(c.Err, "             %s\n", command.Inert(lost))
	}
}

// important is what is said to a pipe too: something waits, or has to be known.
func important(r *review.Report) bool { return len(r.Waiting()) > 0 || len(r.Notes) > 0 }

// ranked counts what the host would execute.
func ranked(entries []review.Entry) string {
	var n [hostexec.Source + 1]int
	for i := range entries {
		n[entries[i].Rank]++
	}
	text := ""
	for _, r := range []struct {
		rank hostexec.Rank
		what string
	}{{hostexec.Unasked, "would run unasked"}, {hostexec.Asked, "run when asked"}, {hostexec.Secret, "hold secrets"}} {
		if n[r.rank] > 0 {
			text += fmt.Sprintf(", %d %s", n[r.rank], r.what)
		}
	}
	return text
}

func executed(entries []review.Entry) (out []review.Entry) {
	for _, e := range entries {
		if e.Rank < hostexec.Source {
			out = append(out, e)
		}
	}
	return out
}

func shortList(c *command.Console, r *review.Report, entries []review.Entry) {
	for i := range entries {
		if i == maxShown {
			fmt.Fprintf(c.Err, "             (%d in all)\n", len(entries))
			return
		}
		e := &entries[i]
		fmt.Fprintf(c.Err, "             %-4s %s\n", mark(e.Kind()), command.Cut(shownPath(r, e)+reasonOf(e), 62))
	}
}

func reasonOf(e *review.Entry) string {
	if e.Text == "" {
		return ""
	}
	return "  " + command.Inert(e.Text)
}

// maxLine is how many changes the line below lists: it stands in logs.
const maxLine = 1000

// WorkJSON is the summary for programs: one line.
func WorkJSON(c *command.Console, res session.Result) {
	if res.Review == nil {
		return
	}
	b, err := res.Review.JSON(maxLine)
	if err != nil {
		return
	}
	var line bytes.Buffer
	if json.Compact(&line, b) == nil {
		fmt.Fprintln(c.Err, line.String())
	}
}
