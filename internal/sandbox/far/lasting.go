package far

import (
	"sync"
	"time"
)

// Lasting is a way to a far end that outlives its connection: one that broke can be taken up
// again.
type Lasting interface {
	// Last begins with that. lost is called when the connection breaks, and back before
	// anything of the next one is read; warn tells a person.
	Last(lost, back func(), warn func(string))
	// Again tries to take it up at once, where it is broken.
	Again() error
	// Over says that nothing of the session is there any more that is not here.
	Over()
	// Left is what a person is told of what was not brought over, and of what helps.
	Left() (text, hint string)
}

// breaks is how long the way was broken, in all.
type breaks struct {
	mu    sync.Mutex
	since time.Time // zero: it is not
	total time.Duration
}

func (b *breaks) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.since = time.Now()
}

func (b *breaks) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.since.IsZero() {
		b.total += time.Since(b.since)
	}
	b.since = time.Time{}
}

// now says whether it is broken, and for how long it was and is.
func (b *breaks) now() (broken bool, total time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.since.IsZero() {
		return false, b.total
	}
	return true, b.total + time.Since(b.since)
}

// outlive lets the sandbox outlive its connection, where its way does.
func (s *sandbox) outlive(way Lasting) {
	if way == nil {
		return
	}
	warn := s.hooks.Warn
	if warn == nil {
		warn = func(string) {}
	}
	s.way = way
	way.Last(func() {
		s.link.Interrupt(true)
		s.breaks.begin()
	}, func() {
		s.breaks.end()
		s.link.Interrupt(false)
	}, warn)
}

// Broken says whether the link is lost just now.
func (s *sandbox) Broken() bool {
	broken, _ := s.breaks.now()
	return broken
}

// Again tries to take the link up at once, where it is broken.
func (s *sandbox) Again() error {
	if s.way == nil {
		return nil
	}
	return s.way.Again()
}
