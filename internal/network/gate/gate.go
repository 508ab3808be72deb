// Package gate is the only way out of a sandbox to a network. The namespace of the
// sandbox ends at sockets whose descriptors the supervisor holds (package netns);
// the gate accepts there, decides by name, looks the name up on the host, checks
// the address that it is about to dial, watches the first bytes, and relays.
//
// One Decide serves everything that asks: DNS, captured connections, the proxy
// endpoint. A denied name is never looked up, an address that is not public is never
// dialled unless a rule names it, and what cannot be recorded does not happen.
//
// Left at risk: what an allowed host does with what it is sent, and what hides
// behind TLS on a host that serves others too.
package gate

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/leakscan"
	"ringfence.dev/ringfence/internal/network/dns"
	"ringfence.dev/ringfence/internal/network/upstream"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Config is what a gate is made of.
type Config struct {
	Session string
	Reach   policy.Reach
	Bound   func(policy.Entry) error // refuses a grant that the ceiling does not allow; nil means none
	Journal *journal.Writer          // stays open when the gate is closed
	Wait    time.Duration            // how long an unknown host waits for a person; 0: denied at once
	Ask     func(Pending)            // tells a person that something waits; may be nil
	Left    func(address.Target)     // nobody waits for it any more; may be nil
	Unasked func(address.Target)     // no rule allows it, and nobody is asked; may be nil
	Alarm   func(error)              // tells a person that the journal cannot be written; may be nil
	Resolve Resolver                 // nil: the host's
	Dial    Dial                     // nil: on the host's network; asked after the guard
	Proxy   *upstream.Proxy          // nil: dial directly
	Refused func(string)             // tells that the proxy refuses a host; may be nil
	Broker  Broker                   // nil: nobody keeps credentials
	Roots   *x509.CertPool           // whom the broker believes; nil: whom the system does
	Decoys  *leakscan.Set            // what must not leave; nil: nothing is searched
	Caught  func(Caught)             // tells that one was about to; may be nil
	Suspect func(injection.Finding)  // tells of text that tries to give orders; may be nil
}

// Bounds of one session.
const (
	maxConns   = 4096             // connections at once
	handshake  = 15 * time.Second // for a client to say what it wants
	dialling   = 15 * time.Second // for an origin to accept
	idle       = 30 * time.Minute // without a byte either way
	lookup     = 10 * time.Second
	maxWaiting = 64  // connections that wait for a person
	maxHellos  = 512 // ClientHellos that are being read
)

// Gate is the gate of one session.
type Gate struct {
	conf    Config
	rules   *rules
	pool    *pool
	asks    asking
	advice  advice
	budgets budgets
	net     rung.Net // from Take on
	owners  *owners
	dialler dialler
	broker  brokerHosts
	decoys  decoys
	records recorder
	told    told
	sockets sockets
	engine  engine
	hellos  hellos
	open    open
	smoke   smoke

	ctx     context.Context
	stop    context.CancelFunc
	tasks   sync.WaitGroup
	slots   chan struct{}
	calls   atomic.Uint64
	opened  bool
	closing sync.Once
	lost    error // of closing

	mu      sync.Mutex
	servers []uint16
	// published are the listeners on the host's loopback, by their ports.
	published map[uint16]*net.TCPListener
	rejected  map[netip.AddrPort]bool // datagrams that were recorded; of the one who watches
}

// New makes a gate that is still shut: it opens with Take.
func New(conf Config) (*Gate, error) {
	g := &Gate{conf: conf, rules: newRules(conf.Reach), pool: newPool(), slots: make(chan struct{}, connections())}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.engine.ctx = g.ctx
	g.rules.learn.under(conf.Bound)
	if conf.Resolve == nil {
		conf.Resolve = hostResolver{}
	}
	if conf.Dial == nil {
		conf.Dial = dialHost
	}
	g.dialler = dialler{guard: guard{rules: g.rules}, names: newLookups(g.ctx, conf.Resolve), dial: conf.Dial, proxy: conf.Proxy}
	g.records = recorder{journal: conf.Journal, alarm: conf.Alarm, done: g.ctx.Done()}
	g.decoys = decoys{set: conf.Decoys, records: &g.records, tell: conf.Caught}
	g.broker = brokerHosts{conf.Broker}
	g.advice.session, g.budgets.rules = conf.Session, conf.Reach.Budget
	g.hellos = hellos{make(chan struct{}, maxHellos), g.ctx.Done()}
	g.asks.init(conf.Wait)
	g.asks.unasked = conf.Unasked
	return g, nil
}

// connections is how many may be open at once: each takes up to four descriptors.
func connections() int {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return 64
	}
	return int(min(maxConns, max(64, (lim.Cur-min(lim.Cur, 256))/6)))
}

// Take opens the gate at the sockets of a sandbox.
func (g *Gate) Take(n rung.Net) error {
	g.net, g.owners = n, newOwners(n)
	server := &dns.Server{Handler: g.resolver().resolve}
	ports := n.Ports()
	for i, p := range ports {
		if err := g.serve(p, server); err != nil {
			for _, rest := range ports[i:] {
				rest.Close()
			}
			g.Close()
			return fmt.Errorf("gate: %s: %w", p.Name, err)
		}
	}
	if err := g.records.write(journal.Record{Event: journal.Gate, State: journal.Opened, Mode: g.conf.Reach.Mode}); err != nil {
		g.Close()
		return err
	}
	g.opened = true
	return nil
}

func (g *Gate) serve(p rung.Port, server *dns.Server) error {
	keepPort(p)
	if p.Name == netns.UDPResolver && p.Packets != nil {
		g.sockets.listen(p.Packets)
		g.tasks.Go(func() { server.ServeUDP(p.Packets) })
		return nil
	}
	l := p.Listen
	if l == nil {
		return errors.New("nobody can connect to it")
	}
	g.sockets.listen(l)
	if p.Name == netns.TCPResolver {
		g.tasks.Go(func() { server.ServeTCP(l) })
		return nil
	}
	handle, err := g.handlerOf(p.Name)
	if handle == nil {
		return errors.Join(err, l.Close())
	}
	g.tasks.Go(func() { g.accept(l, handle) })
	return nil
}

// handlerOf is what becomes of the connections to a port; nil: nobody is there.
func (g *Gate) handlerOf(name string) (func(rung.Conn), error) {
	if n, ok := strings.CutPrefix(name, netns.HostPort); ok {
		port, err := address.ParsePort(n)
		if err != nil {
			return nil, err
		}
		return func(c rung.Conn) { g.hostPort(c, port) }, nil
	}
	switch name {
	case netns.TCP:
		return g.captured, nil
	case netns.ProxyPort:
		return g.proxied, nil
	case netns.BrokerPort:
		if g.conf.Broker == nil {
			return nil, nil
		}
		return func(c rung.Conn) { g.conf.Broker.Local(c) }, nil
	}
	return nil, errors.New("nobody asked for it")
}

// accept hands connections over, each in a goroutine of its own. Where too many are
// open the next one is reset, and the journal has it.
func (g *Gate) accept(l net.Listener, handle func(rung.Conn)) {
	for {
		accepted, err := l.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) || g.ctx.Err() != nil {
				return
			}
			// Out of descriptors or memory: others will end.
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-g.ctx.Done():
				return
			}
		}
		c, ok := accepted.(rung.Conn)
		if !ok { // nobody makes such a port
			reset(accepted)
			continue
		}
		select {
		case g.slots <- struct{}{}:
		default:
			reset(c)
			g.records.refuseNow(journal.Record{Event: journal.Decision, Via: "tcp", Rule: "bounds", Reason: "too many connections are open at once"})
			continue
		}
		g.tasks.Go(func() {
			defer func() { <-g.slots }()
			if g.sockets.hold(c) {
				defer g.sockets.release(c)
				defer g.open.leave(c)
				defer g.survive(c)
				handle(c)
			}
		})
	}
}

// survive makes a fault of ours cost one connection and not the session: the gate
// stands in the process that holds the terminal. The journal has it.
func (g *Gate) survive(c rung.Conn) {
	if fault := recover(); fault != nil {
		reset(c)
		g.records.refuseNow(journal.Record{Event: journal.Decision, Via: "tcp", Rule: "fault of the gate", Reason: fmt.Sprint(fault)})
	}
}

// Close shuts the gate: nothing is accepted any more and what is open is reset. It
// may be called more than once.
func (g *Gate) Close() error {
	g.closing.Do(func() { g.lost = g.shut() })
	return g.lost
}

func (g *Gate) shut() error {
	g.stop()
	g.sockets.close()
	g.engine.close()
	g.tasks.Wait()
	g.dialler.close()
	if g.net != nil {
		g.datagrams()
		g.net.Close()
	}
	return g.records.close(g.opened)
}

// Tally is what went through so far, and what did not: the n hosts that matter most.
func (g *Gate) Tally(n int) []journal.Line { return g.records.tally.Top(n) }
