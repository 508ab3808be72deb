package supervisor

import (
	"fmt"
	"os"
	"slices"
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

// openNote makes the file of the note. It must be there before the sandbox is.
func (l *live) openNote() error {
	f, err := os.OpenFile(launch.NoteFile(l.session.Work.Dir()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	l.note.mu.Lock()
	defer l.note.mu.Unlock()
	l.note.file, l.note.text = f, l.session.Note
	_, err = f.WriteString(l.note.text)
	return err
}

// renewNote writes the note anew where a grant, the end of one, a mask or a port changed it.
// It is this very file that is seen inside: a reader in that moment may get parts of both.
func (l *live) renewNote() {
	l.note.mu.Lock()
	defer l.note.mu.Unlock()
	if l.note.file == nil {
		return
	}
	text, next := l.noteNow()
	if !next.IsZero() { // a little later: then it has ended
		time.AfterFunc(time.Until(next)+10*time.Millisecond, l.renewNote)
	}
	if text == l.note.text {
		return
	}
	if _, err := l.note.file.WriteAt([]byte(text), 0); err != nil {
		l.Say(fmt.Sprintf("the agent's note cannot be renewed: %v", err))
		return
	}
	l.note.file.Truncate(int64(len(text)))
	l.note.text = text
}

// noteNow is what the agent is told as things are, and when the next grant ends.
func (l *live) noteNow() (text string, next time.Time) {
	s := l.current()
	now := launch.Now{Phantoms: s.Trees.Phantoms(), Published: s.Reach.Publish}
	if l.gate != nil {
		now.Published = l.shown()
		for _, g := range l.gate.Grants() {
			until := ""
			if !g.Expires.IsZero() {
				until = ", until " + g.Expires.Local().Format(time.TimeOnly)
				if next.IsZero() || g.Expires.Before(next) {
					next = g.Expires
				}
			}
			now.Granted = append(now.Granted, g.Rule+until)
		}
	}
	return launch.NoteNow(s.Base, s.Keys, now), next
}

// told is what the agent is told, as it is now.
func (l *live) toldNow() string {
	l.note.mu.Lock()
	defer l.note.mu.Unlock()
	return l.note.text
}

// tellStatus writes the line anew, in place: inside it is this very file that is seen.
func (l *live) tellStatus() error {
	l.status.mu.Lock()
	defer l.status.mu.Unlock()
	if l.status.file == nil {
		return nil
	}
	line := StatusLine(statusWords(l.current()), &l.denials) + "\n"
	if _, err := l.status.file.WriteAt([]byte(line), 0); err != nil {
		return err
	}
	return l.status.file.Truncate(int64(len(line)))
}

func (l *live) closeStatus() {
	l.note.mu.Lock()
	if l.note.file != nil {
		l.note.file.Close()
		l.note.file = nil
	}
	l.note.mu.Unlock()
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

// Settled is the plan of a session in which what is renewed while it runs stands as it is at
// the beginning: for who shows the plan to something that is no session.
func Settled(s *session.Session) *plan.Plan {
	p := *s.Plan
	p.Ops = slices.Clone(p.Ops)
	now := map[plan.Raw]string{launch.NotePath: s.Note, launch.StatusPath: statusWords(s) + "\n"}
	for i, op := range p.Ops {
		if text, ok := now[op.Dst]; ok && op.Do == plan.DoBind {
			p.Ops[i] = plan.Op{Do: plan.DoFile, Dst: op.Dst, Data: []byte(text), Mode: 0o444, Why: op.Why}
		}
	}
	return &p
}
