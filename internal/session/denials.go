package session

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/control"
)

// denials counts what was refused and remembers the last of it, for who asks how
// the session does.
type denials struct {
	mu    sync.Mutex
	count int
	again *control.Denial
}

func (d *denials) last() (int, *control.Denial) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.count, d.again
}

// add takes a record of the journal.
func (d *denials) add(r journal.Record) bool {
	if r.Verdict != journal.Deny {
		return false
	}
	what := r.Name
	if what == "" {
		what = r.Addr
	}
	if r.Port != 0 {
		what = fmt.Sprintf("%s:%d", what, r.Port)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.count += max(1, r.Count)
	d.again = &control.Denial{Time: r.Time, What: what, Reason: r.Reason, Command: r.Command}
	return true
}

// StatusPath is where the state of the session lies inside, in one line.
const StatusPath = plan.Own + "/status"

// statusLine is shown inside, by a status line of the agent for example. It is a file
// of the session's directory that only the supervisor can write.
type statusLine struct {
	mu   sync.Mutex
	file *os.File
}

func statusFile(dir string) string { return filepath.Join(dir, "status") }

// openStatus makes the file. It must be there before the sandbox is.
func (l *live) openStatus() error {
	f, err := os.OpenFile(statusFile(l.session.work.Dir()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	l.status.file = f
	return l.tellStatus()
}

// tellStatus writes the line anew, in place: inside it is this very file that is seen.
func (l *live) tellStatus() error {
	l.status.mu.Lock()
	defer l.status.mu.Unlock()
	if l.status.file == nil {
		return nil
	}
	line := StatusLine(l.session.statusWords(), &l.denials) + "\n"
	if _, err := l.status.file.WriteAt([]byte(line), 0); err != nil {
		return err
	}
	return l.status.file.Truncate(int64(len(line)))
}

func (l *live) closeStatus() {
	l.status.mu.Lock()
	defer l.status.mu.Unlock()
	if l.status.file != nil {
		l.status.file.Close()
		l.status.file = nil
	}
}

// statusWords is the part of the line that does not change.
func (s *Session) statusWords() string {
	return fmt.Sprintf("fenced · %s %s · %d/%d walls · net %s", rungName, level, len(s.Plan.Walls), len(plan.AllWalls()), s.Mode())
}

// StatusLine is the state of a session in one line.
func StatusLine(words string, d *denials) string {
	n, last := d.last()
	if n == 0 {
		return words
	}
	return fmt.Sprintf("%s · denied %d, last %s at %s", words, n, plan.Show(last.What), last.Time.Local().Format(time.TimeOnly))
}
