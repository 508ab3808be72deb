package gate

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/relay"
)

// Most of what a fresh connection costs is waking threads. What can be decided at once
// is decided on the thread that relays, which then dials by itself: a rule that looks
// at no bytes, to a name whose one address is known. Everything else is taken to a
// goroutine. Both roads pass the same Decide, guard and journal.

// engineServe lets the relay's engine accept at a port.
func (g *Gate) engineServe(f *os.File, decide func(fd int) relay.Verdict, take func(*net.TCPConn, []byte)) error {
	if err := g.startEngine(); err != nil {
		return err
	}
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return g.engine.Serve(fd, relay.Service{
		Decide: func(fd int, _ []byte) relay.Verdict { return decide(fd) },
		Take:   func(c *net.TCPConn, first []byte) { g.taken(c, func() { take(c, first) }) },
		Dial:   dialling,
	})
}

// startEngine starts what relays. The gate's end keeps it from being started again.
func (g *Gate) startEngine() error {
	g.starting.Do(func() { g.engine, g.noEngine = relay.New() })
	return g.noEngine
}

// taken runs a connection in its goroutine, as accept does for the other ports. Where
// too many are open it is reset: the engine has accepted it already.
func (g *Gate) taken(c *net.TCPConn, handle func()) {
	if !g.enterCall() {
		reset(c)
		return
	}
	defer g.done.Done()
	if g.crowded() {
		reset(c)
		return
	}
	select {
	case g.slots <- struct{}{}:
	default:
		reset(c)
		return
	}
	defer func() { <-g.slots }()
	if g.hold(c) {
		defer g.release(c)
		defer g.survive(c)
		handle()
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

// crowded reports that no more connections are taken, and records it.
func (g *Gate) crowded() bool {
	if int(g.fast.Load())+len(g.slots) < cap(g.slots) {
		return false
	}
	g.refusedHere(journal.Record{Event: journal.Decision, Via: "tcp", Rule: "bounds", Reason: "too many connections are open at once"})
	return true
}

// enterCall counts one more that Close waits for; false once it closes.
func (g *Gate) enterCall() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		return false
	}
	g.done.Add(1)
	return true
}

// judge decides about a captured connection as far as that is possible at once.
func (g *Gate) judge(fd int) relay.Verdict {
	to, err := originalDestination(uintptr(fd))
	if err != nil {
		return relay.Verdict{Do: relay.Refuse}
	}
	t := g.targetOf(to)
	d := g.rules.Decide(Request{Target: t})
	if d.Verdict != Allow || d.Proto != address.TCP || !d.Until.IsZero() || g.conf.Proxy != nil || g.owned(t) || g.spent.of(t) != nil || !g.plainDial {
		return relay.Verdict{Do: relay.Take}
	}
	addrs := []netip.Addr{t.Addr}
	if t.Name != "" {
		addrs = g.names.fresh(t.Name)
	}
	if len(addrs) != 1 || g.guard(addrs[0], t.Port) != nil {
		return relay.Verdict{Do: relay.Take}
	}
	k := &call{g: g, id: g.conns.Add(1), via: "tcp", to: to, target: t, rule: d, proto: string(address.TCP), addr: addrs[0].String()}
	return k.relayAt(fd, netip.AddrPortFrom(addrs[0], t.Port))
}

// relayAt records the verdict and lets the engine go on.
func (k *call) relayAt(fd int, to netip.AddrPort) relay.Verdict {
	if k.g.crowded() {
		return relay.Verdict{Do: relay.Refuse}
	}
	k.g.fast.Add(1)
	if from, err := peer(fd); err == nil {
		k.owner = k.g.owner.askFor(from, k.to, false)
	}
	if err := k.record(journal.Decision, journal.Allow, ""); err != nil {
		k.g.fast.Add(-1)
		return relay.Verdict{Do: relay.Refuse}
	}
	return relay.Verdict{Do: relay.Relay, To: to, Options: relay.Options{Idle: idle, Inspect: k.inspector()}, Ended: k.relayed}
}

// relayed closes the record, off the engine's thread.
func (k *call) relayed(n relay.Counts, err error) {
	k.g.fast.Add(-1)
	if !k.g.enterCall() {
		k.ended(n.Sent, n.Received, nil)
		return
	}
	go func() {
		defer k.g.done.Done()
		if n.Received == 0 && notReached(err) {
			k.rule.Reason = "not reached: " + dialReason(err)
			k.g.loopback.forget(k.target.Port)
		}
		k.ended(n.Sent, n.Received, nil)
	}()
}

func notReached(err error) bool {
	return errors.Is(err, relay.ErrDial) || errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ENETUNREACH) || errors.Is(err, unix.EHOSTUNREACH)
}

// peer is the client's end of a connection.
func peer(fd int) (netip.AddrPort, error) {
	sa, err := unix.Getpeername(fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	return addrPort(sa)
}

func addrPort(sa unix.Sockaddr) (netip.AddrPort, error) {
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port)), nil
	case *unix.SockaddrInet6:
		return netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port)), nil
	}
	return netip.AddrPort{}, fmt.Errorf("unexpected address %T", sa)
}
