package sessions

import (
	"fmt"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/cli/command"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/supervisor"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// maxShown keeps the summary on one screen. What it leaves out is counted, and
// `ringfence diff` never leaves out anything.
const maxShown = 12

// End tells how a session ended: to a person what needs one and the one command that comes
// next, with Long also what needs nobody. To a pipe only what waits or is gone is told.
type End struct {
	C       *command.Console
	Session *session.Session
	Result  supervisor.Result
	Talk    bool // a person is there, or wants to hear as one
	Long    bool
}

// Tell prints it.
func (e End) Tell() {
	if e.Talk {
		e.head()
		if e.Long {
			NetSummary(e.C, e.Session, e.Result.Net)
			e.listRefused(e.Result.Refused)
		} else {
			e.refusals()
		}
		for _, name := range e.Result.Decoys {
			fmt.Fprintf(e.C.Err, "  decoy      %q was read inside: somebody looked for credentials; see ringfence log %s\n", name, e.Session.ID)
		}
	}
	e.work()
	e.scripts()
	e.shared()
	if words := e.Result.Resume; e.Talk && len(words) > 0 {
		fmt.Fprintf(e.C.Err, "  resume     ringfence %s\n", strings.Join(words, " "))
	}
	if next := e.Next(); next != "" && (e.Talk || e.waits()) {
		fmt.Fprintf(e.C.Err, "  next       %s\n", next)
	}
}

func (e End) head() {
	exit := e.Result.Exit
	how := fmt.Sprintf("exit %d", exit.Code())
	switch {
	case exit.Killed:
		how = "the sandbox was killed"
	case exit.Status.Signaled():
		how = fmt.Sprintf("killed by signal %d", exit.Status.Signal())
	}
	fmt.Fprintf(e.C.Err, "ringfence %s ended: %s after %s\n", e.Session.ID, how, e.Result.Time.Round(10*time.Millisecond))
}

// maxRefused is how many hosts are named that were refused; the log has them all.
const maxRefused = 3

// refusals names what was refused.
func (e End) refusals() {
	e.listRefused(e.refused())
}

func (e End) listRefused(denied []journal.Line) {
	for i, l := range denied {
		key := []string{"refused", ""}[min(i, 1)]
		if i == maxRefused {
			fmt.Fprintf(e.C.Err, "  %-10s … and %s more: ringfence log %s\n", key, plainCount(len(denied)-i, "refusal", "refusals"), e.Session.ID)
			return
		}
		fmt.Fprintf(e.C.Err, "  %-10s %s\n", key, command.Cut(command.Inert(refusedLine(l)), 66))
	}
}

// refused are the hosts, writes and calls that were.
func (e End) refused() []journal.Line { return append(refused(e.Result.Net), e.Result.Refused...) }

// work tells what waits, what changed and what is gone.
func (e End) work() {
	r := e.Result.Review
	if r == nil {
		return
	}
	waits, live := r.Waiting(), r.Live()
	if e.Talk || len(waits) > 0 || len(r.Notes) > 0 {
		e.changes(waits, live)
	}
	if e.clone() {
		fmt.Fprintf(e.C.Err, "  waits      commits in the clone that the repository has not: git fetch %s\n", e.Session.ID)
	}
	if n := e.uncommitted(); n > 0 {
		fmt.Fprintf(e.C.Err, "  waits      %s not committed, which no fetch gets:\n             %s\n", plainCount(n, "file is", "files are"), plan.Show(r.Work.CloneDir()))
	}
	lostSummary(e.C, r)
	goneSummary(e.C, r.Outside)
}

// maxSkipped is how many packages are named whose install scripts were not run.
const maxSkipped = 4

// scripts tells which install scripts were not run, and what runs them the next time.
func (e End) scripts() {
	all := e.Result.Skipped
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(e.C.Err, "  scripts    install scripts of %s were not run; to run them, the next time:\n", plainCount(len(all), "package", "packages"))
	for i, name := range all {
		if i == maxSkipped {
			fmt.Fprintf(e.C.Err, "             … and %d more: ringfence log %s\n", len(all)-i, e.Session.ID)
			return
		}
		fmt.Fprintf(e.C.Err, "             --allow-package %s\n", command.Inert(name))
	}
}

// shared tells which conversations were copied to the host, and which were not.
func (e End) shared() {
	r := e.Result.Shared
	if n := len(r.Copied); n > 0 && e.Talk {
		fmt.Fprintf(e.C.Err, "  history    %s copied to the host; ringfence history --take-back %s removes it there\n", plainCount(n, "conversation", "conversations"), e.Session.ID)
	}
	for _, l := range r.Left {
		fmt.Fprintf(e.C.Err, "  history    %s is not copied: %s\n", command.Inert(l.Name), command.Inert(l.Why))
	}
}

// clone holds where commits wait in a clone.
func (e End) clone() bool {
	if e.Result.Review == nil || e.Result.Review.Work.Source == "" {
		return false
	}
	waits, err := e.Result.Review.Work.Waits()
	return waits && err == nil
}

// uncommitted counts the files in a clone that no commit has; 0 where that is not known.
func (e End) uncommitted() int {
	if e.Result.Review == nil {
		return 0
	}
	n, err := e.Result.Review.Work.Uncommitted()
	if err != nil {
		return 0 // that the clone is not offered, and why, is told before
	}
	return n
}

// waits holds where something waits for a person.
func (e End) waits() bool {
	r := e.Result.Review
	return r != nil && len(r.Waiting()) > 0 || e.clone()
}

// Next is the one command that comes next; "" where nothing needs a person.
func (e End) Next() string {
	id, r := e.Session.ID, e.Result.Review
	switch {
	case r != nil && len(r.Waiting()) > 0:
		return "ringfence diff " + id
	case e.clone():
		return "git fetch " + id
	case len(e.refused()) > 0:
		return "ringfence why --last " + id
	}
	return ""
}

func noteList(c *command.Console, r *review.Report) {
	for _, note := range r.Notes {
		fmt.Fprintf(c.Err, "             note: %s\n", command.Inert(note))
	}
}

// changes is what changed, or waits to.
func (e End) changes(waits, live []review.Entry) {
	c, r := e.C, e.Result.Review
	if len(waits) > 0 {
		fmt.Fprintf(c.Err, "  waits      %d for review%s\n", len(waits), ranked(waits))
		shortList(c, r, waits)
		noteList(c, r)
	}
	if n := len(e.Result.Applied); n > 0 && e.Long {
		fmt.Fprintf(c.Err, "  applied    %d held file%s that make%s git run nothing\n", n, command.Plural(n, "", "s"), command.Plural(n, "s", ""))
	}
	if len(live) > 0 {
		fmt.Fprintf(c.Err, "  changed    %d on the host%s\n", len(live), ranked(live))
		shortList(c, r, executed(live))
		if len(waits) == 0 {
			noteList(c, r)
		}
		if e.Long {
			fmt.Fprintf(c.Err, "             ringfence undo %s brings back what was\n", r.Work.ID)
		}
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
