package cli

import (
	"bytes"
	"encoding/json"
	"fmt"

	"ringfence.dev/ringfence/internal/session/supervisor"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// maxShown keeps the summary on one screen. What it leaves out is counted, and
// `ringfence diff` never leaves out anything.
const maxShown = 12

// workSummary says at the end of a session what waits, what changed, and what
// comes next.
func (c *console) workSummary(res supervisor.Result, talk bool) {
	r := res.Review
	if r == nil {
		return
	}
	waits, live := r.Waiting(), r.Live()
	if talk || important(r) {
		c.changeSummary(res, waits, live, talk)
	}
	if w := r.Work; w.Source != "" {
		if waits, err := w.Waits(); waits && err == nil {
			fmt.Fprintf(c.err, "  waits      commits in the clone that the repository has not: git fetch %s\n", w.ID)
		}
	}
	c.lostSummary(r)
	c.goneSummary(r.Outside)
}

func (c *console) noteList(r *review.Report) {
	for _, note := range r.Notes {
		fmt.Fprintf(c.err, "             note: %s\n", inert(note))
	}
}

// changeSummary is what changed, or waits to.
func (c *console) changeSummary(res supervisor.Result, waits, live []review.Entry, talk bool) {
	r, id := res.Review, res.Review.Work.ID
	if len(waits) > 0 {
		fmt.Fprintf(c.err, "  waits      %d for review%s\n", len(waits), ranked(waits))
		c.shortList(r, waits)
		c.noteList(r)
		fmt.Fprintf(c.err, "             see: ringfence diff %s; then: ringfence apply or discard\n", id)
	}
	if n := len(res.Applied); n > 0 && talk {
		fmt.Fprintf(c.err, "  applied    %d held file%s that make%s git run nothing\n", n, plural(n, "", "s"), plural(n, "s", ""))
	}
	if len(live) > 0 {
		fmt.Fprintf(c.err, "  changed    %d on the host%s\n", len(live), ranked(live))
		c.shortList(r, executed(live))
		if len(waits) == 0 {
			c.noteList(r)
		}
		fmt.Fprintf(c.err, "             ringfence undo %s brings back what was\n", id)
	}
}

// lostSummary says what cannot be brought back, also to a pipe.
func (c *console) lostSummary(r *review.Report) {
	if n := len(r.Lost); n > 0 {
		fmt.Fprintf(c.err, "  not kept   undo will not bring back %d file%s\n", n, plural(n, "", "s"))
	}
	for i, lost := range r.Lost {
		if i == maxGone {
			fmt.Fprintf(c.err, "             see all: ringfence diff %s --json\n", r.Work.ID)
			return
		}
		fmt.Fprintf(c.err, "             %s\n", inert(lost))
	}
}

// important is what is said to a pipe too: something waits, or has to be known.
func important(r *review.Report) bool { return len(r.Waiting()) > 0 || len(r.Notes) > 0 }

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

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

func (c *console) shortList(r *review.Report, entries []review.Entry) {
	for i := range entries {
		if i == maxShown {
			fmt.Fprintf(c.err, "             (%d in all)\n", len(entries))
			return
		}
		e := &entries[i]
		fmt.Fprintf(c.err, "             %-4s %s\n", mark(e.Kind()), cut(shownPath(r, e)+reasonOf(e), 62))
	}
}

func reasonOf(e *review.Entry) string {
	if e.Text == "" {
		return ""
	}
	return "  " + inert(e.Text)
}

// cut keeps a line within a terminal.
func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return string(r[:most-1]) + "…"
}

// maxLine is how many changes the line below lists: it stands in logs.
const maxLine = 1000

// workJSON is the summary for programs: one line.
func (c *console) workJSON(res supervisor.Result) {
	if res.Review == nil {
		return
	}
	b, err := res.Review.JSON(maxLine)
	if err != nil {
		return
	}
	var line bytes.Buffer
	if json.Compact(&line, b) == nil {
		fmt.Fprintln(c.err, line.String())
	}
}
