package gate

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/address"
)

// Resolver finds the addresses of a name on the host.
type Resolver interface {
	Lookup(ctx context.Context, n address.Name) ([]netip.Addr, error)
}

// hostResolver is the host's own: its hosts file, its resolv.conf. The dot at the
// end keeps the host's search list out; a name of one label is looked for with it,
// as a rule that allows one must have meant.
type hostResolver struct{}

func (hostResolver) Lookup(ctx context.Context, n address.Name) ([]netip.Addr, error) {
	name := string(n)
	if !n.Single() {
		name += "."
	}
	r := net.Resolver{PreferGo: true}
	return r.LookupNetIP(ctx, "ip", name)
}

// lookups remembers answers for a moment and asks once for many: a package manager
// opens a hundred connections to one host at a time. What is remembered is judged
// anew at every dial.
type lookups struct {
	ctx      context.Context // of the gate
	resolver Resolver
	mu       sync.Mutex
	known    map[address.Name]*answer
	slots    chan struct{}
	under    int // lookups under way
}

type answer struct {
	done  chan struct{}
	addrs []netip.Addr
	err   error
	until time.Time
}

const (
	lookupKept = 10 * time.Second
	maxKept    = 1024

	maxAtOnce   = 32  // questions to the host's resolver
	maxUnderWay = 256 // names that wait for one
)

var errTooManyLookups = errors.New("too many names are looked up at once")

func newLookups(ctx context.Context, r Resolver) *lookups {
	return &lookups{ctx: ctx, resolver: r, known: map[address.Name]*answer{}, slots: make(chan struct{}, maxAtOnce)}
}

// find asks, or waits for who asked before.
func (l *lookups) find(ctx context.Context, n address.Name) ([]netip.Addr, error) {
	a := l.ask(n)
	select {
	case <-a.done:
		return a.addrs, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ask returns the answer that is there or under way, or begins to look for one. The
// search goes on when who began it has given up: others may wait for it.
func (l *lookups) ask(n address.Name) *answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.known[n]; a != nil && (a.until.IsZero() || time.Now().Before(a.until)) {
		return a
	}
	a := &answer{done: make(chan struct{})}
	if l.under >= maxUnderWay {
		a.err = errTooManyLookups
		close(a.done)
		return a
	}
	if len(l.known) >= maxKept {
		clear(l.known)
	}
	l.known[n] = a
	l.under++
	go l.look(n, a)
	return a
}

func (l *lookups) look(n address.Name, a *answer) {
	ctx, cancel := context.WithTimeout(l.ctx, lookup)
	defer cancel()
	var addrs []netip.Addr
	var err error
	select {
	case l.slots <- struct{}{}:
		addrs, err = l.resolver.Lookup(ctx, n)
		<-l.slots
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.under--
	for _, addr := range addrs {
		a.addrs = append(a.addrs, addr.Unmap())
	}
	a.err, a.until = err, time.Now().Add(lookupKept)
	if err != nil && l.known[n] == a {
		delete(l.known, n)
	}
	close(a.done)
}
