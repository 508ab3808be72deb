package gate

import (
	"net"
	"sync"
	"time"
)

// tether ends a connection in the clear when the grant that allowed its request does.
// A connection may carry requests of several rules: what counts is the one under way,
// and with HTTP/2 the one whose grant ends first.
type tether struct {
	mu           sync.Mutex
	until        time.Time // zero: no grant is needed
	method, path string
	origin       *net.TCPConn // nil: not dialled yet
	ended        chan struct{}
	watched      bool
}

// set says what the request under way hangs on. With more than one under way, only
// what ends sooner counts.
func (k *call) hangOn(d Decision, method, path string) {
	t := &k.tether
	t.mu.Lock()
	defer t.mu.Unlock()
	if k.proto == "h2c" && (d.Until.IsZero() || !t.until.IsZero() && t.until.Before(d.Until)) {
		return
	}
	t.until, t.method, t.path = d.Until, method, path
	k.watchTether()
}

// hang begins to watch, once there is an origin. The caller calls stop at the end.
func (k *call) hang(origin *net.TCPConn) (stop func()) {
	t := &k.tether
	t.mu.Lock()
	defer t.mu.Unlock()
	t.origin, t.ended = origin, make(chan struct{})
	k.watchTether()
	return func() { close(t.ended) }
}

// watchTether starts the watch where there is something to watch. t.mu is held.
func (k *call) watchTether() {
	if t := &k.tether; t.origin != nil && !t.until.IsZero() && !t.watched {
		t.watched = true
		k.g.spawn(k.watch)
	}
}

func (k *call) watch() {
	t := &k.tether
	for {
		t.mu.Lock()
		until, q := t.until, Request{Target: k.target, Method: t.method, Path: t.path}
		t.watched = !until.IsZero()
		t.mu.Unlock()
		if until.IsZero() {
			return
		}
		select {
		case <-t.ended:
			return
		case <-time.After(min(time.Until(until), lookAgain)):
		}
		if time.Now().Before(until) {
			continue
		}
		d := k.g.rules.Decide(q)
		t.mu.Lock()
		same := t.until.Equal(until)
		if same {
			t.until = d.Until
		}
		t.mu.Unlock()
		if same && d.Verdict != Allow {
			reset(k.client)
			reset(t.origin)
			return
		}
	}
}
