package supervisor

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/trees"
)

// book is the journal of a running session. Every session has one, with a network
// or without.
type book struct {
	*journal.Writer
	unwritten atomic.Int64 // records about what had happened already
	ended     bool

	settling  sync.WaitGroup
	unsettled error
}

// openBook begins the journal. A session that cannot be recorded does not start.
func (l *live) openBook() error {
	s := l.session
	l.book.Writer = journal.Create(s.Dirs.Journal(), s.ID)
	l.book.Tell = l.heard
	records, err := s.Beginning()
	for _, r := range records {
		if err = errors.Join(err, l.book.Write(r)); err != nil {
			break
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("record the session: %w", err), l.book.Close())
	}
	return nil
}

// settleOthers ends the journals of sessions that were killed, while nobody waits for it.
func (l *live) settleOthers() {
	l.book.settling.Go(func() { _, l.book.unsettled = journal.Settle(l.session.Dirs.Journal()) })
}

// heard takes every record that was written.
func (l *live) heard(r journal.Record) {
	if r.Event == journal.Refused {
		l.refusals.Add(r)
	}
	if r.Rule == journal.RuleScripts && r.Verdict == journal.Deny {
		l.skipped.add(r.Name)
	}
	if r.Event == journal.Masked {
		go l.renewNote()
	}
	if l.denials.add(r) {
		l.tellStatus()
	}
}

// Record writes down what has happened already, so that nothing can be refused for
// it. What is lost is told at the end.
func (l *live) Record(records ...journal.Record) {
	for _, r := range records {
		if l.book.Write(r) != nil {
			l.book.unwritten.Add(1)
		}
	}
}

// closeBook writes the end and signs it.
func (l *live) closeBook(res *Result) error {
	if l.book.ended || l.book.Writer == nil {
		return nil
	}
	l.book.ended = true
	l.book.settling.Wait()
	if l.book.unsettled != nil {
		l.talk.Warn(fmt.Sprintf("the record of a session that was killed: %v", l.book.unsettled))
	}
	if res != nil {
		l.Record(ending(res)...)
	} else {
		l.Record(journal.Record{Kind: journal.Session, Event: journal.Exit, State: "not started", Code: 125})
	}
	err := l.book.Close()
	if n := l.book.unwritten.Load(); n > 0 {
		err = errors.Join(fmt.Errorf("%d records could not be written", n), err)
	}
	return err
}

// ending is how the session went: what waits, what was hit, and its status.
func ending(res *Result) []journal.Record {
	var out []journal.Record
	if r := res.Review; r != nil {
		out = append(trees.Reviewed(r, r.Live(), journal.Record{Event: journal.Changed}),
			trees.Reviewed(r, r.Waiting(), journal.Record{Event: journal.Waits, Verdict: journal.Wait})...)
	}
	for _, limit := range []struct {
		name string
		hit  int64
	}{{"memory", res.OOM}, {"processes", res.Forks}} {
		if limit.hit > 0 {
			out = append(out, journal.Record{Kind: journal.Session, Event: journal.Limit, Name: limit.name, Count: int(limit.hit)})
		}
	}
	state := "exited"
	switch {
	case res.Exit.Killed:
		state = "killed"
	case res.Exit.Status.Signaled():
		state = "signalled"
	}
	resume, _ := journal.MakeNames(res.Resume)
	return append(out, journal.Record{Kind: journal.Session, Event: journal.Exit, State: state, Code: res.Exit.Code(), List: resume})
}

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

// noteFile is the note that the agent reads, of which only the supervisor can write.
type noteFile struct {
	mu   sync.Mutex
	file *os.File
	text string
}

// statusLine is shown inside, by a status line of the agent for example. It is a file
// of the session's directory that only the supervisor can write.
type statusLine struct {
	mu   sync.Mutex
	file *os.File
}

// skips are the packages whose install scripts were not run.
type skips struct {
	mu    sync.Mutex
	names []string
}

const maxSkips = 256

func (s *skips) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.names) < maxSkips && !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
}

func (s *skips) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names
}
