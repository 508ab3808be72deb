package gate

import (
	"net/netip"
	"slices"
	"time"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/sandbox/netns"
)

// The time between two looks for new servers: short while they come, longer while there
// are none, so that a session that waits costs next to nothing.
const (
	watchSoon = time.Second
	watchLate = 4 * time.Second
)

// maxServers bounds what is told of one session's servers.
const maxServers = 1024

// Watch calls found with the port of every server that begins to listen inside, until
// the gate closes. The kernel tells nobody of that, so it is asked.
func (g *Gate) Watch(found func(port uint16)) {
	g.tasks.Go(func() {
		var known [1 << 16]bool
		for _, p := range append([]uint16{netns.Port, netns.Proxy, netns.Broker, netns.Resolver}, g.conf.Reach.HostPorts...) {
			known[p] = true
		}
		servers := 0
		look := time.NewTimer(watchSoon)
		defer look.Stop()
		for wait := watchSoon; ; {
			select {
			case <-g.ctx.Done():
				return
			case <-look.C:
			}
			wait = min(wait*3/2, watchLate)
			for _, p := range g.net.Listening() {
				if known[p] || servers >= maxServers {
					continue
				}
				known[p] = true
				wait = watchSoon
				servers++
				g.mu.Lock()
				g.servers = append(g.servers, p)
				g.mu.Unlock()
				g.records.write(journal.Record{Event: journal.Listen, Port: p})
				found(p)
			}
			g.datagrams()
			look.Reset(wait)
		}
	})
}

// datagrams records where datagrams were to go, each once.
func (g *Gate) datagrams() {
	for _, to := range g.net.Datagrams() {
		if g.rejected[to] {
			continue
		}
		if g.rejected == nil {
			g.rejected = map[netip.AddrPort]bool{}
		}
		g.rejected[to] = true
		r := journal.Record{Event: journal.Decision, Via: "udp", Protocol: "udp", Addr: to.Addr().String(), Port: to.Port(), Reason: "only TCP leaves a session, and questions for names"}
		if name, ok := g.pool.name(to.Addr()); ok {
			r.Name, r.Addr = string(name), ""
		}
		g.records.refuseNow(r)
	}
}

// Servers lists the ports at which servers were seen inside.
func (g *Gate) Servers() []uint16 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.servers)
}
