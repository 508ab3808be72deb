package gate

import (
	"context"
	"net"
	"net/netip"
	"sync"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/relay"
)

// loopbacks remembers at which of its two loopback addresses the host serves a port.
type loopbacks struct {
	mu    sync.Mutex
	where map[uint16]netip.Addr
}

func (l *loopbacks) get(port uint16) (netip.Addr, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a, ok := l.where[port]
	return a, ok
}

func (l *loopbacks) set(port uint16, a netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.where == nil {
		l.where = map[uint16]netip.Addr{}
	}
	l.where[port] = a
}

func (l *loopbacks) forget(port uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.where, port)
}

// hostPort carries a connection to the very port of the host's loopback that policy
// opened. It is no exception of the guard: nothing but this listener leads here, and
// it leads nowhere else.
func (g *Gate) hostPort(port uint16) (decide func(fd int) relay.Verdict, take func(*net.TCPConn, []byte)) {
	call := func(a netip.Addr) *call {
		return &call{g: g, id: g.conns.Add(1), via: "host-port", proto: string(address.TCP), addr: a.String(),
			to:     netip.AddrPortFrom(a, port), // inside it listens at the same
			target: address.Target{Addr: a, Port: port},
			rule:   Decision{Verdict: Allow, Rule: "host-port " + portText(port)}}
	}
	decide = func(fd int) relay.Verdict {
		a, ok := g.loopback.get(port)
		if !ok || !g.plainDial {
			return relay.Verdict{Do: relay.Take}
		}
		return call(a).relayAt(fd, netip.AddrPortFrom(a, port))
	}
	take = func(c *net.TCPConn, first []byte) {
		ctx, cancel := context.WithTimeout(g.ctx, dialling)
		defer cancel()
		var origin *net.TCPConn
		var err error
		k := call(netip.AddrFrom4([4]byte{127, 0, 0, 1}))
		for _, a := range []netip.Addr{k.target.Addr, netip.IPv6Loopback()} {
			if origin, err = g.conf.Dial(ctx, netip.AddrPortFrom(a, port)); err == nil {
				g.loopback.set(port, a)
				k = call(a)
				break
			}
		}
		k.client, k.first = c, first
		k.owner = g.owner.ask(c, k.to, false)
		if err != nil {
			k.failed(err)
			return
		}
		if err := k.record(journal.Decision, journal.Allow, ""); err != nil {
			reset(origin)
			k.drop()
			return
		}
		k.carry(origin, relay.Counts{})
	}
	return decide, take
}
