package dns

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// busy is the answer when every place stays taken. A client whose query is dropped
// waits for seconds before it asks again, and looks as if it hung; one that is told
// asks again at once, and then fails in words. Before it is told its query stands
// in line for a moment, or else a program that asks for a hundred names at once
// would be refused a third of them by handlers that are quick.
var busy = Answer{
	Code: dnsmessage.RCodeServerFailure,
	EDE:  14, // not ready
	Text: "too many names are being asked for at once",
}

// Packets is a socket of datagrams, as *net.UDPConn is.
type Packets interface {
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
}

// ServeUDP serves until conn is closed, which is no error, and returns when all
// handlers have. Where a redirect of the kernel brings the queries, conn must be
// bound to the address that it leads to, 127.0.0.1 or ::1: one bound to any
// address replies from the one that is nearest to the sender, which the kernel
// does not know to belong to the query, and the client never sees it.
func (s *Server) ServeUDP(conn Packets) error {
	ctx, cancel := context.WithCancel(context.Background())
	limits := s.limits.orDefault()
	d := &desk{
		conn:   conn,
		handle: s.Handler,
		limits: limits,
		line:   make(chan struct{}, limits.handlers+limits.line),
		places: make(chan struct{}, limits.handlers),
		open:   make(map[pending]struct{}),
	}
	defer d.running.Wait()
	defer cancel()

	var failures patience
	buf := make([]byte, MaxQuery+1) // a datagram that is cut shows by its length
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		switch {
		case err == nil:
			failures = 0
			d.take(ctx, buf[:n], from)
		case failures.spent(err):
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("read query: %w", err)
		}
	}
}

// desk is where the queries of one socket are taken in and handed out again.
type desk struct {
	conn   Packets
	handle Handler
	limits limits

	running sync.WaitGroup
	line    chan struct{} // one for each query that is answered or waits for it
	places  chan struct{} // one for each that is answered

	mu   sync.Mutex
	open map[pending]struct{}
}

// pending is a query that is being answered.
type pending struct {
	from netip.AddrPort
	q    Question
}

// take answers msg or has it answered; it never waits.
func (d *desk) take(ctx context.Context, msg []byte, from netip.AddrPort) {
	q, fault := parse(msg)
	if fault != nil {
		if !fault.Drop {
			d.send(q, Answer{Code: fault.Code}, from)
		}
		return
	}
	p := pending{from, q}
	if !d.begin(p) {
		return
	}
	select {
	case d.line <- struct{}{}:
		d.running.Go(func() {
			d.answer(ctx, p)
			<-d.line
		})
	default:
		d.end(p)
		d.send(q, busy, from)
	}
}

// answer answers p when its turn comes.
func (d *desk) answer(ctx context.Context, p pending) {
	a := busy
	if d.enter(ctx) {
		a = d.handle(ctx, p.q, viaUDP, sender(p.from))
		<-d.places
	}
	d.end(p) // before the reply: after it the client may ask the same again
	d.send(p.q, a, p.from)
}

// enter takes a place and reports whether one was to be had in time.
func (d *desk) enter(ctx context.Context) bool {
	select {
	case d.places <- struct{}{}:
		return true
	default:
	}
	timer := time.NewTimer(d.limits.wait)
	defer timer.Stop()
	select {
	case d.places <- struct{}{}:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	return false
}

// begin notes p and reports whether it is new. A client that is kept waiting sends
// its query again and again, the very same; one answer will do for all.
func (d *desk) begin(p pending) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, there := d.open[p]; there {
		return false
	}
	d.open[p] = struct{}{}
	return true
}

func (d *desk) end(p pending) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, p)
}

// send sends a reply. One that cannot be sent is lost, as on any network: the
// sender may have given an address that does not exist.
func (d *desk) send(q Question, a Answer, to netip.AddrPort) {
	_, _ = d.conn.WriteToUDPAddrPort(q.Reply(a, min(q.UDPSize, d.limits.udp)), to)
}
