package far

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// network is that of a sandbox at the far end. It ends here, at streams.
type network struct {
	link  *link.Link
	ports []rung.Port
	tcp   map[string]*listener
}

// newNetwork makes the ports that the plan has, and no others.
func newNetwork(l *link.Link, p *plan.Plan) (*network, error) {
	n := &network{link: l, tcp: map[string]*listener{}}
	if p.Capture == nil {
		return n, nil
	}
	for _, at := range p.Capture.Listen {
		port := rung.Port{Name: at.Name}
		if at.Network == "udp" {
			s, err := l.Open(link.Datagrams{Port: at.Name})
			if err != nil {
				return nil, err
			}
			port.Packets = packets{link.Packets{Stream: s}}
		} else {
			in := &listener{name: at.Name, arrived: make(chan *link.Stream, backlog), closed: make(chan struct{}), link: l}
			n.tcp[at.Name], port.Listen = in, in
		}
		n.ports = append(n.ports, port)
	}
	return n, nil
}

// accept hands the connections of the far end to the ports. One for a port that does not
// exist is none that an honest far end makes.
func (n *network) accept() {
	for {
		s, err := n.link.Accept()
		if err != nil {
			return
		}
		c, ok := s.Header().(link.Conn)
		if !ok || n.tcp[c.Port] == nil {
			n.link.Broke(fmt.Sprintf("a connection to the port %q, which does not exist", c.Port))
			return
		}
		n.tcp[c.Port].add(s)
	}
}

// Ports implements rung.Net.
func (n *network) Ports() []rung.Port { return n.ports }

// Close implements rung.Net. The ports are the gate's to close.
func (n *network) Close() {}

// Dial implements rung.Net.
func (n *network) Dial(port uint16) (rung.Conn, error) {
	s, err := n.link.Open(link.Dial{Port: port})
	if err != nil {
		return nil, err
	}
	s.SetReadDeadline(time.Now().Add(patience))
	var first [1]byte
	if _, err = s.Read(first[:]); err == nil && first[0] != link.Connected {
		err = n.link.Broke("a connection that does not begin as one")
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	s.SetReadDeadline(time.Time{})
	return &conn{Stream: s}, nil
}

// recordPatience is how long a record waits for what is only good to know.
const recordPatience = time.Second

// Listening implements rung.Net.
func (n *network) Listening() []uint16 {
	a, err := ask(n.link, link.Ask{What: link.Listening}, recordPatience)
	if err != nil {
		return nil
	}
	return a.Ports
}

// Datagrams implements rung.Net: nobody asks the far end for them.
func (n *network) Datagrams() []netip.AddrPort { return nil }

// Owner implements rung.Net: what the far end says.
func (n *network) Owner(from, to netip.AddrPort) (int, string) {
	a, err := ask(n.link, link.Ask{What: link.Owner, From: unmap(from), To: unmap(to)}, recordPatience)
	if err != nil {
		return 0, ""
	}
	return a.PID, Clean(a.Command)
}

func unmap(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// packets ends its reader as a socket does.
type packets struct{ link.Packets }

func (p packets) ReadFromUDPAddrPort(b []byte) (int, netip.AddrPort, error) {
	n, from, err := p.Packets.ReadFromUDPAddrPort(b)
	if err != nil {
		err = net.ErrClosed // there is no more after any error
	}
	return n, from, err
}

// listener is a port at which streams arrive.
type listener struct {
	name    string
	link    *link.Link
	arrived chan *link.Stream
	closed  chan struct{}
	once    sync.Once
}

// backlog is how many connections wait to be accepted.
const backlog = 512

func (l *listener) add(s *link.Stream) {
	select {
	case <-l.closed:
	default:
		select {
		case l.arrived <- s:
			return
		default:
		}
	}
	s.Reset(link.Refused)
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case s := <-l.arrived:
		return &conn{Stream: s}, nil
	case <-l.closed:
	case <-l.link.Done():
	}
	return nil, net.ErrClosed
}

// Close implements net.Listener. What was not accepted is reset.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	for {
		select {
		case s := <-l.arrived:
			s.Reset(link.Refused)
		default:
			return nil
		}
	}
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: l.name, Net: "link"} }

// conn is a connection of that network.
type conn struct {
	*link.Stream
	cut  atomic.Bool
	most atomic.Int64 // a time.Duration: what is written must be taken so soon; 0: no bound
	sent atomic.Int64 // a time.Duration since epoch
}

var epoch = time.Now()

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) {
	if most := time.Duration(c.most.Load()); most > 0 {
		c.Stream.SetWriteDeadline(time.Now().Add(most))
	}
	n, err := c.Stream.Write(b)
	if n > 0 {
		c.sent.Store(int64(time.Since(epoch)))
	}
	return n, err
}

// SetDeadline implements net.Conn: what is set here bounds writes from now on.
func (c *conn) SetDeadline(t time.Time) error {
	c.most.Store(0)
	return c.Stream.SetDeadline(t)
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.most.Store(0)
	return c.Stream.SetWriteDeadline(t)
}

// Unread implements rung.Conn.
func (c *conn) Unread(most time.Duration) { c.most.Store(int64(most)) }

// Sent implements rung.Conn.
func (c *conn) Sent() (time.Duration, bool) {
	at := c.sent.Load()
	return time.Since(epoch) - time.Duration(at), at != 0
}

// Socket implements rung.Conn: it is none.
func (c *conn) Socket() *net.TCPConn { return nil }

// Original implements rung.Conn: where the far end says that it was going.
func (c *conn) Original() (netip.AddrPort, error) {
	h, ok := c.Header().(link.Conn)
	if !ok {
		return netip.AddrPort{}, fmt.Errorf("nobody turned it to the gate")
	}
	return h.To, nil
}

// SetLinger implements rung.Conn.
func (c *conn) SetLinger(sec int) error {
	c.cut.Store(sec == 0)
	return nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	if c.cut.Load() {
		return c.Reset(link.Gone)
	}
	return c.Stream.Close()
}
