package gate

import (
	"context"
	"net/netip"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/relay"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// hostPort carries a connection to the very port of the host's loopback that policy
// opened. It is no exception of the guard: nothing but this listener leads here, and
// it leads nowhere else.
func (g *Gate) hostPort(c rung.Conn, port uint16) {
	state := g.open.state()
	fits := func() bool { return slices.Contains(g.rules.at.Load().hostPorts, port) }
	ctx, cancel := context.WithTimeout(g.ctx, dialling)
	defer cancel()
	k := &call{g: g, id: g.calls.Add(1), via: "host-port", client: c, proto: string(address.TCP),
		rule: Decision{Verdict: Allow, Rule: "host-port " + portText(port)}}
	a := netip.AddrFrom4([4]byte{127, 0, 0, 1})
	if k.held = g.open.enter(state, c, fits); k.held == nil || !fits() {
		k.to, k.target = netip.AddrPortFrom(a, port), address.Target{Addr: a, Port: port}
		k.rule = Decision{Verdict: Deny, Rule: k.rule.Rule, Reason: "a person took it back while the session runs"}
		k.refuse()
		return
	}
	origin, err := g.dialler.dial(ctx, netip.AddrPortFrom(a, port))
	if err != nil {
		if v6, err6 := g.dialler.dial(ctx, netip.AddrPortFrom(netip.IPv6Loopback(), port)); err6 == nil {
			origin, err, a = v6, nil, netip.IPv6Loopback()
		}
	}
	k.to = netip.AddrPortFrom(a, port) // inside it listens at the same
	k.addr, k.target = a.String(), address.Target{Addr: a, Port: port}
	k.owner = g.owners.ask(c, k.to, false)
	if err != nil {
		k.failed(err)
		return
	}
	if err := k.record(journal.Decision, journal.Allow, ""); err != nil {
		reset(origin)
		reset(c)
		return
	}
	k.carry(origin, relay.Counts{})
}
