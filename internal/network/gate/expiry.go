package gate

import (
	"net"
	"sync"
	"time"
)

// lookAgain is how long a timer is trusted: it stands still while a laptop sleeps, and a
// grant ends by the clock on the wall.
const lookAgain = 20 * time.Second

// expiry ends a connection when the grant that allowed it does, unless by then another
// rule allows it. A connection in the clear carries requests of several rules: what
// counts is the one under way.
type expiry struct {
	mu      sync.Mutex
	until   time.Time // zero: no grant is needed
	asked   Request   // what the grant allows
	watched bool
	begin   func() // nil: there is nothing to end yet
}

// set says until when the connection is allowed what it asked for.
func (e *expiry) set(until time.Time, asked Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.until, e.asked = until, asked
	e.start()
}

// request is what is under way; none: nobody said.
func (e *expiry) request() Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

// watch begins to watch, once both sides are there. The caller calls stop at the end.
func (e *expiry) watch(tasks *sync.WaitGroup, r *rules, client, origin net.Conn) (stop func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	ended := make(chan struct{})
	e.begin = func() { tasks.Go(func() { e.run(r, ended, client, origin) }) }
	e.start()
	return func() { close(ended) }
}

// start is for where there is something to watch and to end. e.mu is held.
func (e *expiry) start() {
	if e.begin != nil && !e.until.IsZero() && !e.watched {
		e.watched = true
		e.begin()
	}
}

func (e *expiry) run(r *rules, ended <-chan struct{}, client, origin net.Conn) {
	for {
		e.mu.Lock()
		until, asked := e.until, e.asked
		e.watched = !until.IsZero()
		e.mu.Unlock()
		if until.IsZero() {
			return
		}
		select {
		case <-ended:
			return
		case <-time.After(min(time.Until(until), lookAgain)):
		}
		if time.Now().Before(until) {
			continue
		}
		d := r.Decide(asked)
		e.mu.Lock()
		same := e.until.Equal(until)
		if same {
			e.until = d.Until
		}
		e.mu.Unlock()
		if same && d.Verdict != Allow {
			reset(client)
			reset(origin)
			return
		}
	}
}
