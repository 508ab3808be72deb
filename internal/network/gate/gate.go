// Package gate is the only way out of a sandbox to a network. The namespace of the
// sandbox ends at sockets whose descriptors the supervisor holds (package capture);
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
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/leakscan"
	"ringfence.dev/ringfence/internal/network/dns"
	"ringfence.dev/ringfence/internal/network/relay"
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
	Alarm   func(error)              // tells a person that the journal cannot be written; may be nil
	Resolve Resolver                 // nil: the host's
	Dial    Dial                     // nil: on the host's network; asked after the guard
	Proxy   *Upstream                // nil: dial directly
	Broker  Broker                   // nil: nobody keeps credentials
	Decoys  *leakscan.Set            // what must not leave; nil: nothing is searched
	Caught  func(Caught)             // tells that one was about to; may be nil
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
	conf  Config
	rules *rules
	pool  *pool
	names *lookups
	own   *kernel
	owner *owners
	tell  repeats
	asks  asking
	spent budgets
	told  told

	ctx    context.Context
	stop   context.CancelFunc
	slots  chan struct{}
	hellos chan struct{}
	conns  atomic.Uint64
	tally  journal.Tally

	unwritten atomic.Int64 // records
	flood     flood

	starting sync.Once
	engine   *relay.Engine
	noEngine error

	mu      sync.Mutex
	open    map[net.Conn]struct{}
	ports   []interface{ Close() error }
	servers []uint16
	done    sync.WaitGroup
	alarms  sync.WaitGroup
	closing sync.Once
	lost    error // of closing
	opened  bool
}

// New makes a gate that is still shut: it opens with Take.
func New(conf Config) (*Gate, error) {
	g := &Gate{conf: conf, pool: newPool(), slots: make(chan struct{}, connections()), hellos: make(chan struct{}, maxHellos), open: map[net.Conn]struct{}{}}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.rules, g.spent.rules = newRules(conf.Reach), conf.Reach.Budget
	g.rules.learn.under(conf.Bound)
	if conf.Resolve == nil {
		conf.Resolve = hostResolver{}
	}
	if conf.Dial == nil {
		g.conf.Dial = dialHost
	}
	g.names = newLookups(g.ctx, conf.Resolve)
	g.own = &kernel{}
	g.asks.init()
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

// Take opens the gate at the sockets of the sandbox whose first process is pid.
func (g *Gate) Take(pid int, ports []rung.Port) error {
	server := &dns.Server{Handler: g.resolve}
	// Whoever wants to know who connected needs this one first.
	slices.SortStableFunc(ports, func(a, b rung.Port) int { return cmp.Compare(bit(b.Name == netns.Diag), bit(a.Name == netns.Diag)) })
	for i, p := range ports {
		if err := g.serve(pid, p, server); err != nil {
			for _, rest := range ports[i:] {
				rest.File.Close()
			}
			g.Close()
			return fmt.Errorf("gate: %s: %w", p.Name, err)
		}
	}
	if err := g.record(journal.Record{Event: journal.Gate, State: journal.Opened, Mode: g.conf.Reach.Mode}); err != nil {
		g.Close()
		return err
	}
	g.opened = true
	return nil
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (g *Gate) serve(pid int, p rung.Port, server *dns.Server) error {
	if !mutated("ports", p.File) {
		defer p.File.Close() // package net makes its own copy
	}
	if p.Name == netns.Diag {
		var err error
		g.owner, err = newOwners(p.File, pid)
		return err
	}
	if p.Name == netns.UDPResolver {
		c, err := net.FilePacketConn(p.File)
		if err != nil {
			return err
		}
		g.keep(c)
		g.spawn(func() { server.ServeUDP(c.(*net.UDPConn)) })
		return nil
	}
	c, err := net.FileListener(p.File)
	if err != nil {
		return err
	}
	l := c.(*net.TCPListener)
	g.keep(l)
	if p.Name == netns.TCPResolver {
		g.spawn(func() { server.ServeTCP(l) })
		return nil
	}
	handle, err := g.handlerOf(p.Name)
	if handle == nil {
		return errors.Join(err, l.Close())
	}
	g.spawn(func() { g.accept(l, handle) })
	return nil
}

// handlerOf is what becomes of the connections to a port; nil: nobody is there.
func (g *Gate) handlerOf(name string) (func(*net.TCPConn), error) {
	if n, ok := strings.CutPrefix(name, netns.HostPort); ok {
		port, err := address.ParsePort(n)
		if err != nil {
			return nil, err
		}
		return func(c *net.TCPConn) { g.hostPort(c, port) }, nil
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
		return func(c *net.TCPConn) { g.conf.Broker.Local(c) }, nil
	}
	return nil, errors.New("nobody asked for it")
}

func (g *Gate) keep(c interface{ Close() error }) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ports = append(g.ports, c)
}

func (g *Gate) spawn(f func()) {
	g.done.Add(1)
	go func() {
		defer g.done.Done()
		f()
	}()
}

// accept hands connections over, each in a goroutine of its own. Where too many are
// open the next one is reset, and the journal has it.
func (g *Gate) accept(l *net.TCPListener, handle func(*net.TCPConn)) {
	for {
		c, err := l.AcceptTCP()
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
		select {
		case g.slots <- struct{}{}:
		default:
			reset(c)
			g.refusedHere(journal.Record{Event: journal.Decision, Via: "tcp", Rule: "bounds", Reason: "too many connections are open at once"})
			continue
		}
		g.spawn(func() {
			defer func() { <-g.slots }()
			if g.hold(c) {
				defer g.release(c)
				defer g.survive(c)
				handle(c)
			}
		})
	}
}

// survive makes a fault of ours cost one connection and not the session: the gate
// stands in the process that holds the terminal. The journal has it.
func (g *Gate) survive(c *net.TCPConn) {
	if fault := recover(); fault != nil {
		reset(c)
		g.refusedHere(journal.Record{Event: journal.Decision, Via: "tcp", Rule: "fault of the gate", Reason: fmt.Sprint(fault)})
	}
}

// hold remembers a connection, so that Close can end it.
func (g *Gate) hold(c net.Conn) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		c.Close()
		return false
	}
	g.open[c] = struct{}{}
	return true
}

func (g *Gate) release(c net.Conn) {
	g.mu.Lock()
	delete(g.open, c)
	g.mu.Unlock()
	c.Close()
}

// Close shuts the gate: nothing is accepted any more and what is open is reset. It
// may be called more than once.
func (g *Gate) Close() error {
	g.closing.Do(func() { g.lost = g.shut() })
	return g.lost
}

func (g *Gate) shut() error {
	g.stop()
	g.mu.Lock()
	ports, open := g.ports, g.open
	g.ports, g.open = nil, nil
	g.mu.Unlock()
	for _, p := range ports {
		p.Close()
	}
	for c := range open {
		reset(c)
	}
	g.starting.Do(func() { g.noEngine = net.ErrClosed })
	if g.engine != nil {
		g.engine.Close()
	}
	g.done.Wait()
	if g.owner != nil {
		g.owner.close()
	}
	g.own.close()
	for _, r := range g.flood.rest() {
		g.record(r)
	}
	var err error
	if g.opened {
		err = g.record(journal.Record{Event: journal.Gate, State: journal.Closed})
	}
	if n := g.unwritten.Load(); n > 0 && err == nil {
		err = fmt.Errorf("%d records could not be written; what they were about was refused, or had ended", n)
	}
	return err
}

// reset ends a connection so that its other side hears of it at once.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}

// Tally is what went through so far, and what did not: the n hosts that matter most.
func (g *Gate) Tally(n int) []journal.Line { return g.tally.Top(n) }

// record writes to the journal and counts.
func (g *Gate) record(r journal.Record) error {
	if r.Kind == "" {
		r.Kind = journal.Net
	}
	if err := g.conf.Journal.Write(r); err != nil {
		err = fmt.Errorf("the journal cannot be written: %w", err)
		if g.unwritten.Add(1) == 1 && g.conf.Alarm != nil {
			g.conf.Alarm(err)
		}
		return err
	}
	g.tally.Add(r)
	return nil
}
