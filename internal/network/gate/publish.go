package gate

import (
	"net"
	"net/netip"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/relay"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Publish carries what connects to l, on the host's loopback, to a port inside.
func (g *Gate) Publish(l *net.TCPListener, inside uint16) {
	g.sockets.listen(l)
	host := uint16(l.Addr().(*net.TCPAddr).Port)
	g.mu.Lock()
	if g.published == nil {
		g.published = map[uint16]*net.TCPListener{}
	}
	g.published[host] = l
	g.mu.Unlock()
	g.tasks.Go(func() {
		g.accept(netns.Listener{TCPListener: l}, func(c rung.Conn) { g.comesIn(c, host, inside) })
	})
}

func (g *Gate) comesIn(c rung.Conn, host, port uint16) {
	state := g.open.state()
	fits := func() bool { return g.shows(host) }
	held := g.open.enter(state, c, fits)
	if held == nil || !fits() {
		reset(c)
		return
	}
	r := journal.Record{Event: journal.Decision, Conn: g.calls.Add(1), Via: "publish", Protocol: string(address.TCP), Addr: "inside", Port: port,
		Verdict: journal.Allow, Rule: "publish " + portText(port)}
	to, err := g.net.Dial(port)
	if err != nil {
		r.Reason = "nothing listens inside"
	}
	if g.records.write(r) != nil || err != nil {
		if to != nil {
			reset(to)
		}
		reset(c)
		return
	}
	if !held.join(to, netip.AddrPort{}) {
		return
	}
	n, _ := g.engine.pair(c, to, relay.Options{Idle: idle, Hold: held.relayed()})
	// Seen from inside: what comes in was sent by the host.
	r.Event, r.Sent, r.Received = journal.End, n.Received, n.Sent
	g.records.write(r)
}
