package ssh

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/carrier"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/state"
)

// way is the way to a session on another machine. It outlives a connection of ssh.
type way struct {
	*carrier.Carrier
	place place
	note  *note
	dir   string // of the session's state here
	keep  time.Duration
	warn  func(string)

	ctx  context.Context // done when it is closed
	stop func()

	mu     sync.Mutex
	trying *trying   // nil: it was never broken
	since  time.Time // when it was last taken up
	pause  time.Duration
	over   bool   // nothing is there that is not here
	state  string // what is there of a session that has ended, by the machine's word; "": it did not say
}

// trying is what tries to take a way up again.
type trying struct {
	ask  chan chan error
	over chan struct{}
}

func newWay(p place, n *note, b far.Begin) *way {
	w := &way{Carrier: carrier.New(carrier.Near, n.Secret, alive), place: p, note: n, dir: b.Dir, keep: b.Keep}
	w.ctx, w.stop = context.WithCancel(context.Background())
	return w
}

// Close ends it, and the session with it where that can be told. What is there and not here is
// then sealed there at once.
func (w *way) Close() error {
	w.stop()
	w.mu.Lock()
	over := w.over
	w.mu.Unlock()
	if over {
		return w.Carrier.Close()
	}
	return w.Part()
}

// Last implements far.Lasting.
func (w *way) Last(lost, back func(), warn func(string)) {
	w.warn = warn
	w.Carrier.Last(w.keep, func() {
		lost()
		go w.takeUp(w.begin())
		warn(fmt.Sprintf("the link to %s is lost: the session there stands still for %s, and nothing of its network goes on. It is taken up again as soon as that can be; to try at once: ringfence attach %s", w.place.host, w.keep, w.note.Session))
	}, func() {
		back()
		w.mu.Lock()
		w.since = time.Now()
		w.mu.Unlock()
		warn(fmt.Sprintf("the link to %s is back: the session goes on, and its connections have ended", w.place.host))
	})
}

// begin begins to try. A machine that cuts every connection soon after it was made is not
// dialled more often for that.
func (w *way) begin() *trying {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.since) > mostPause {
		w.pause = 0
	}
	w.trying = &trying{make(chan chan error), make(chan struct{})}
	return w.trying
}

// next is how long to wait before the next try.
func (w *way) next() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.pause
	w.pause = min(max(firstPause, 2*w.pause), mostPause)
	return now
}

// The pauses between two tries.
const (
	firstPause = time.Second
	mostPause  = 30 * time.Second
)

// takeUp tries to take it up again until it is, or has ended.
func (w *way) takeUp(t *trying) {
	defer close(t.over)
	for {
		var asked chan error
		select {
		case <-time.After(w.next()):
		case asked = <-t.ask:
		case <-w.ctx.Done():
			return
		}
		err := w.try()
		if asked != nil {
			asked <- err
		}
		if err == nil || w.Err() != nil {
			return
		}
	}
}

// try dials once.
func (w *way) try() error {
	c, err := w.place.dial(w.ctx)
	if err != nil {
		return err
	}
	stop := c.within(w.ctx, greeting)
	defer stop()
	said, err := c.order(order{Do: doResume, Session: w.note.Session})
	switch {
	case err != nil:
	case said.State == stateGone || said.State == stateLeft || said.State == stateUnsealed:
		err = fmt.Errorf("the session on %s has ended", w.place.host)
		w.mu.Lock()
		w.state = said.State
		w.mu.Unlock()
		w.Abandon(err)
	case said.State != stateLives:
		err = wrong("no session")
	default:
		if err = w.Join(c); err == nil {
			return nil
		}
	}
	c.Close()
	return err
}

// order says something, and hears the answer.
func (c *conn) order(o order) (answer, error) {
	if err := c.send(o); err != nil {
		return answer{}, c.lost(err)
	}
	return c.hear(maxReady)
}

// Again implements far.Lasting.
func (w *way) Again() error {
	w.mu.Lock()
	t := w.trying
	w.mu.Unlock()
	if t == nil || !w.Cut() {
		return nil
	}
	asked := make(chan error, 1)
	select {
	case t.ask <- asked:
		return <-asked
	case <-t.over:
	}
	if w.Cut() {
		return errors.New("the session there has ended")
	}
	return nil
}

// Over implements far.Lasting.
func (w *way) Over() {
	w.mu.Lock()
	w.over = true
	w.mu.Unlock()
	forget(w.dir)
}

// forget removes the note of a session.
func forget(dir string) { os.Remove(filepath.Join(dir, state.Elsewhere)) }

// Left implements far.Lasting. The key for what is there is kept whatever the machine says: a
// name may lead to several, and one that lies is not to be obeyed.
func (w *way) Left() (text, hint string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	attach := "ringfence attach " + w.note.Session
	switch w.state {
	case stateGone:
		return fmt.Sprintf("is not on %s, by its word", w.place.host), "what came before waits for review: ringfence diff; if that name leads to several machines, " + attach + " tries again"
	case stateUnsealed:
		return fmt.Sprintf("waits on %s, not sealed: its end there was killed, had no room, or could not end the session in time", w.place.host), attach + " fetches it"
	}
	return fmt.Sprintf("waits on %s if that machine could keep it, as a rule sealed to a key that only this machine has", w.place.host), attach + " fetches it"
}
