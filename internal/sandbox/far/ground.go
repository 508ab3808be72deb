package far

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/link"
)

// Ground is what a far end stands on whose disk is a file of this machine with holes. A write
// for which this machine has no room would be lost in there, after whoever wrote it was told that
// it is done. So it never comes to that: the far end stands still before.
type Ground interface {
	// Where is what a person is told to make room in.
	Where() string
	// Room is how much is free there, and how much of that must stay so.
	Room() (free, least int64)
	// Freeze lets everything stand still that writes there, the far end's kernel too; Thaw lets
	// it go on.
	Freeze() error
	Thaw() error
}

// ground is one while its far end runs.
type ground struct {
	Ground
	mu      sync.Mutex
	cramped bool // there is too little room, and it stands still
	held    bool // somebody said Freeze meanwhile: then room does not let it go on
	owed    bool // or Thaw, of what stood still before
}

// hold lets a far end that stands still for want of room stand still for another reason, too. It
// says whether it does: nobody there could be asked.
func (g *ground) hold() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held, g.owed = g.cramped, false
	return g.cramped
}

// release takes that back. What stood still before there was too little room is let go on later.
func (g *ground) release() bool {
	if g == nil {
		return false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.owed, g.held = g.cramped && !g.held, false
	return g.cramped
}

// How often the room is looked at: the less there is, the more often. No disk is thought to take
// more than swift bytes in a second.
const (
	swift     = 4 << 30
	lookSoon  = 2 * time.Millisecond
	lookLater = time.Second / 2
)

// pauseFor is how long nobody needs to look where so much is free beyond the reserve.
func pauseFor(beyond int64) time.Duration {
	return max(lookSoon, min(lookLater, time.Duration(beyond/(swift/int64(time.Second/time.Microsecond)))*time.Microsecond))
}

// watchGround looks at the room as long as the link is there. The far end stands still where there
// is too little, and goes on when there is a quarter more than that.
//
// Left at risk: what another program takes within a blink, and a quota, which nobody can see from
// here. Then the machine stands still for good, and its link ends.
func (s *sandbox) watchGround() {
	for {
		free, least := s.ground.Room()
		if s.link.Err() != nil { // and with it what could be looked at
			return
		}
		if free < least {
			if !s.standStill(free, least) {
				return
			}
			continue
		}
		select {
		case <-s.link.Done():
			return
		case <-time.After(pauseFor(free - least)):
		}
	}
}

// standStill lets the far end stand still until there is room. It says whether it is still there.
func (s *sandbox) standStill(free, least int64) bool {
	g := s.ground
	g.mu.Lock()
	g.cramped = true
	g.mu.Unlock()
	s.link.Stand(true)
	s.breaks.begin()
	if err := g.Freeze(); err != nil { // it would go on writing
		s.tell(fmt.Sprintf("%s is full, and the machine that writes there does not stand still: %s", g.Where(), Clean(err.Error())))
		s.link.Close()
		return false
	}
	s.tell(fmt.Sprintf("the session stands still: of the disk that holds %s %d MiB are free, and %d MiB stay so, or files of the agent's would be lost unseen. Make room there, and it goes on by itself; ringfence stop twice gives it up", g.Where(), max(free, 0)>>20, least>>20))
	for since := time.Now(); ; {
		select {
		case <-s.link.Done():
			return false
		case <-time.After(lookLater):
		}
		if free, least := g.Room(); free >= least+least/4 && s.goOn() {
			return true
		}
		switch { // a session that runs stands still for as long as it likes
		case !s.ending():
			since = time.Now()
		case time.Since(since) > s.keep:
			s.link.Close()
			return false
		}
	}
}

// goOn lets the far end go on, unless somebody else wants it to stand still.
func (s *sandbox) goOn() bool {
	g := s.ground
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held || g.Thaw() != nil {
		return false
	}
	g.cramped = false
	s.breaks.end()
	s.link.Stand(false)
	if g.owed {
		go s.ask(link.Thaw)
	}
	g.owed = false
	return true
}

// ending says that the agent has ended, or shall.
func (s *sandbox) ending() bool {
	select {
	case <-s.gone:
		return true
	default:
		return s.closed.Load()
	}
}

// awaitGround waits until the far end does not stand still for want of room. It says whether it is
// still there.
func (s *sandbox) awaitGround() bool {
	s.ground.release() // who ends it does not want it to stand still
	for s.ground != nil && s.Broken() {
		select {
		case <-s.link.Done():
			return false
		case <-time.After(lookLater):
		}
	}
	return true
}

// settles is how long a far end may take to write what it has to its disk.
const settles = 5 * time.Minute

// settle asks whether all that was written there is on the far end's disk. Who wrote it was told
// so before, and may have gone without a look.
func (s *sandbox) settle() error {
	for s.ground != nil && len(s.layers) > 0 {
		_, before := s.breaks.now()
		_, err := ask(s.link, link.Ask{What: link.Settle}, settles)
		switch _, after := s.breaks.now(); {
		case err == nil || s.link.Err() != nil:
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded) && after > before: // it stood still meanwhile
			continue
		}
		return fault.New(fault.Failed, "look at it before you take it: ringfence diff", "what waits for review may not be whole: the far end's disk failed: %s", Clean(err.Error()))
	}
	return nil
}

// whyBroken is why nothing can be brought over just now.
func (s *sandbox) whyBroken() error {
	if s.ground != nil {
		return fmt.Errorf("%w in %s", errCramped, s.ground.Where())
	}
	return errBroken
}

var errCramped = errors.New("the session stands still: make room")

// tell tells a person, where there is one.
func (s *sandbox) tell(text string) {
	if s.hooks.Warn != nil {
		s.hooks.Warn(text)
	}
}
