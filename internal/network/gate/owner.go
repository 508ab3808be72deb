package gate

import (
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// owners tells which process inside holds the other end of a connection. It is for
// the record, never for a verdict: a process can hand its work to another.
type owners struct {
	net      rung.Net
	seekers  chan struct{}
	second   atomic.Int64 // which one it is
	searches atomic.Int64 // in it
}

// Bounds of the searches, whatever is inside.
const (
	searchesASecond = 50
	maxSeekers      = 16
)

func newOwners(n rung.Net) *owners { return &owners{net: n, seekers: make(chan struct{}, maxSeekers)} }

// owner is an answer that may still be coming.
type owner struct {
	done    chan struct{}
	pid     int // as it is inside
	command string
}

// ask begins to look for who made a connection. Of connections that are allowed only
// so many a second are looked into: a build that opens thousands should not wait for
// its own record. A refusal is always worth the search.
func (o *owners) ask(c net.Conn, to netip.AddrPort, refused bool) *owner {
	w := &owner{done: make(chan struct{})}
	from, ok := c.RemoteAddr().(*net.TCPAddr)
	if !ok { // it was reset before anybody looked
		close(w.done)
		return w
	}
	if o == nil || !refused && !o.spare() {
		close(w.done)
		return w
	}
	select {
	case o.seekers <- struct{}{}:
	default: // too many are at it: an agent could make thousands of them
		close(w.done)
		return w
	}
	go func() {
		defer func() { <-o.seekers; close(w.done) }()
		w.pid, w.command = o.net.Owner(from.AddrPort(), to)
	}()
	return w
}

// spare takes one of this second's searches.
func (o *owners) spare() bool {
	now := time.Now().Unix()
	if o.second.Swap(now) != now {
		o.searches.Store(0)
	}
	return o.searches.Add(1) <= searchesASecond
}

// wait gives the search a moment.
func (w *owner) wait() {
	select {
	case <-w.done:
	case <-time.After(50 * time.Millisecond):
	}
}

// known returns what was found so far.
func (w *owner) known() (pid int, command string) {
	select {
	case <-w.done:
		return w.pid, w.command
	default:
		return 0, ""
	}
}

// seekAgain is how often it is looked for who waits, while that is not known.
const seekAgain = 200 * time.Millisecond

// unlessKnown begins another search where the last one ended without an answer: on a
// busy machine its time is soon over, and a person wants to know who asks.
func (o *owners) unlessKnown(k *call) *owner {
	select {
	case <-k.owner.done:
		if k.owner.pid == 0 {
			return o.ask(k.client, k.to, true)
		}
	default: // it is still coming
	}
	return k.owner
}
