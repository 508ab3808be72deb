package supervisor

import (
	"fmt"
	"os"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
)

// openStatus makes the file. It must be there before the sandbox is.
func (l *live) openStatus() error {
	f, err := os.OpenFile(launch.StatusFile(l.session.Work.Dir()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
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
	line := StatusLine(statusWords(l.session), &l.denials) + "\n"
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
func statusWords(s *session.Session) string {
	return fmt.Sprintf("fenced · %s %s · %d/%d walls · net %s", rung.Title(s.Rung), s.Rung.Offer().Level, len(s.Plan.Walls), len(plan.AllWalls()), s.Mode())
}

// StatusLine is the state of a session in one line.
func StatusLine(words string, d *denials) string {
	n, last := d.last()
	if n == 0 {
		return words
	}
	return fmt.Sprintf("%s · denied %d, last %s at %s", words, n, plan.Show(last.What), last.Time.Local().Format(time.TimeOnly))
}
