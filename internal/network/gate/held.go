package gate

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"ringfence.dev/ringfence/internal/network/relay"
)

// cutShort is why a connection ended that was allowed when it began.
const cutShort = "cut: what allowed it was taken back"

// open are the connections that were allowed, each with who tells whether it still is. When
// less is allowed than before, they are asked.
type open struct {
	narrowed atomic.Uint64 // how often less was allowed than before
	mu       sync.Mutex
	all      map[net.Conn]*held
}

// held is one connection that was allowed.
type held struct {
	fits func() bool
	hold relay.Hold // of the relay that may have both ends

	mu   sync.Mutex
	ends []net.Conn
	to   netip.AddrPort // where the other end is, if that was our choice
	cut  bool
}

// state is what enter has to be told: it is asked for before the decision.
func (o *open) state() uint64 { return o.narrowed.Load() }

// enter remembers a connection that was allowed. It returns nil where less is allowed since
// the decision: then that is to be made anew.
func (o *open) enter(state uint64, c net.Conn, fits func() bool) *held {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.narrowed.Load() != state {
		return nil
	}
	if o.all == nil {
		o.all = map[net.Conn]*held{}
	}
	h := &held{fits: fits, ends: []net.Conn{c}}
	o.all[c] = h
	return h
}

// leave forgets a connection.
func (o *open) leave(c net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.all, c)
}

// sweep cuts what is not allowed any more, and returns how many connections that were. The
// rules are the new ones already: who was allowed by the old ones is remembered here, or
// decides anew.
func (o *open) sweep(denied func(netip.AddrPort) bool) (cut int) {
	o.mu.Lock()
	o.narrowed.Add(1)
	all := make([]*held, 0, len(o.all))
	for _, h := range o.all {
		all = append(all, h)
	}
	o.mu.Unlock()
	for _, h := range all {
		if (!h.fits() || denied(h.address())) && h.end() {
			cut++
		}
	}
	return cut
}

func (h *held) address() netip.AddrPort {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.to
}

// end cuts it at both ends; false if it was cut before.
func (h *held) end() bool {
	h.mu.Lock()
	ends, was := h.ends, h.cut
	h.cut = true
	h.mu.Unlock()
	h.hold.Cut()
	for _, c := range ends {
		reset(c)
	}
	return !was
}

// join adds the other end. It is false, and that end is reset, where the connection was cut
// meanwhile.
func (h *held) join(c net.Conn, to netip.AddrPort) bool {
	if h == nil {
		return true
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cut {
		reset(c)
		return false
	}
	if !slices.Contains(h.ends, c) {
		h.ends, h.to = append(h.ends, c), to
	}
	return true
}

func (h *held) gone() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cut
}

// relayed is what the relay of both ends is held by.
func (h *held) relayed() *relay.Hold {
	if h == nil {
		return nil
	}
	return &h.hold
}

// joins adds the origin to what is cut with the call.
func (k *call) joins(origin net.Conn) bool {
	var to netip.AddrPort
	if a, err := netip.ParseAddr(k.addr); err == nil {
		to = netip.AddrPortFrom(a, k.target.Port)
	}
	return k.held.join(origin, to)
}

// reached is a connection that the broker has, until it closes it.
type reached struct {
	net.Conn
	leave func()
}

func (r *reached) Close() error {
	r.leave()
	return r.Conn.Close()
}

// lent remembers a connection of the broker's: it is cut as those of the agent are.
func (g *Gate) lent(state uint64, c net.Conn, to netip.AddrPort, fits func() bool) net.Conn {
	h := g.open.enter(state, c, fits)
	if h == nil {
		reset(c)
		return nil
	}
	h.mu.Lock()
	h.to = to
	h.mu.Unlock()
	return &reached{c, func() { g.open.leave(c) }}
}
