package dns

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

// always answers every question alike.
func always(a Answer) Handler {
	return func(context.Context, Question, string, netip.AddrPort) Answer { return a }
}

// serveUDP serves on addr until the test ends, and returns the socket.
func serveUDP(t *testing.T, s *Server, addr string) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(addr)))
	if err != nil {
		t.Fatalf("no socket at %s: %v", addr, err)
	}
	run(t, conn, func() error { return s.ServeUDP(conn) })
	return conn
}

func serveTCP(t *testing.T, s *Server, addr string) *net.TCPListener {
	t.Helper()
	l, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort(addr)))
	if err != nil {
		t.Fatalf("no socket at %s: %v", addr, err)
	}
	run(t, l, func() error { return s.ServeTCP(l) })
	return l
}

// run fails the test unless serve ends, without error, once the socket is closed.
func run(t *testing.T, socket io.Closer, serve func() error) {
	done := make(chan error, 1)
	go func() { done <- serve() }()
	t.Cleanup(func() {
		socket.Close()
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(wait.Patience):
			t.Error("still serving a closed socket")
		}
	})
}

func dial(t *testing.T, to net.Addr) net.Conn {
	t.Helper()
	c, err := net.Dial(to.Network(), to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(wait.Patience))
	return c
}

func send(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
}

// receive reads one datagram.
func receive(t *testing.T, c net.Conn) []byte {
	t.Helper()
	b := make([]byte, 2*MaxUDP)
	n, err := c.Read(b)
	if err != nil {
		t.Fatal(err)
	}
	return b[:n]
}

// framed is a message as it is sent over TCP.
func framed(msg []byte) []byte { return append(appendWords(nil, uint16(len(msg))), msg...) }

// receiveFrame reads one message.
func receiveFrame(t *testing.T, c net.Conn) []byte {
	t.Helper()
	var size [2]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// closed fails unless the other side ends the connection without a byte more.
func closed(t *testing.T, c net.Conn) {
	t.Helper()
	b, err := io.ReadAll(c)
	if nerr, ok := err.(net.Error); ok && nerr.Timeout() || len(b) > 0 {
		t.Fatalf("not closed: %x, %v", b, err)
	}
}

// equal fails unless a reply is this one.
func equal(t *testing.T, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		t.Fatalf("got\n%x, want\n%x", got, want)
	}
}

// reply is what is to be answered to a query over any transport.
func reply(t *testing.T, query []byte, a Answer) []byte {
	t.Helper()
	q, err := Parse(query)
	if err != nil {
		t.Fatal(err)
	}
	return q.Reply(a, q.UDPSize)
}

// gate holds handlers until it is opened. Those that wait say so on asked.
type gate struct {
	asked  chan Question
	opened chan struct{}
	once   sync.Once
}

func newGate(t *testing.T) *gate {
	g := &gate{asked: make(chan Question, 1000), opened: make(chan struct{})}
	t.Cleanup(g.open)
	return g
}

func (g *gate) open() { g.once.Do(func() { close(g.opened) }) }

func (g *gate) handle(ctx context.Context, q Question, _ string, _ netip.AddrPort) Answer {
	g.asked <- q
	select {
	case <-g.opened:
	case <-ctx.Done():
	}
	return Answer{V4: v4, TTL: 60}
}

// TestSender: the Handler sees the client's own address, and the reply comes from
// the address that was asked, also where one socket serves both families.
func TestSender(t *testing.T) {
	for _, tt := range []struct{ listen, ask string }{
		{"127.0.0.1:0", "127.0.0.1"},
		{"[::1]:0", "::1"},
		{"[::]:0", "127.0.0.1"},
		{"[::]:0", "::1"},
	} {
		t.Run(tt.listen+" "+tt.ask, func(t *testing.T) {
			type call struct {
				via  string
				from netip.AddrPort
			}
			calls := make(chan call, 1)
			s := &Server{Handler: func(_ context.Context, _ Question, via string, from netip.AddrPort) Answer {
				calls <- call{via, from}
				return Answer{}
			}}
			query := plain(1, "a.test", 1)
			at := func(port int) string { return netip.AddrPortFrom(netip.MustParseAddr(tt.ask), uint16(port)).String() }

			u := serveUDP(t, s, tt.listen)
			addr, _ := net.ResolveUDPAddr("udp", at(u.LocalAddr().(*net.UDPAddr).Port))
			c := dial(t, addr) // connected: takes nothing from another address
			send(t, c, query)
			equal(t, receive(t, c), reply(t, query, Answer{}))
			if got := <-calls; got.via != "udp" || got.from.String() != c.LocalAddr().String() {
				t.Errorf("%+v, want %v", got, c.LocalAddr())
			}

			l := serveTCP(t, s, tt.listen)
			tcp, _ := net.ResolveTCPAddr("tcp", at(l.Addr().(*net.TCPAddr).Port))
			c = dial(t, tcp)
			send(t, c, framed(query))
			equal(t, receiveFrame(t, c), reply(t, query, Answer{}))
			if got := <-calls; got.via != "tcp" || got.from.String() != c.LocalAddr().String() {
				t.Errorf("%+v, want %v", got, c.LocalAddr())
			}
		})
	}
}

// TestFailuresPass: a socket that fails for a while, as without memory it would,
// serves on.
func TestFailuresPass(t *testing.T) {
	s := &Server{Handler: always(Answer{})}
	query := plain(1, "a.test", 1)
	past := time.Unix(1, 0)

	u := serveUDP(t, s, "127.0.0.1:0")
	u.SetReadDeadline(past)
	c := dial(t, u.LocalAddr())
	send(t, c, query)
	u.SetReadDeadline(time.Time{})
	equal(t, receive(t, c), reply(t, query, Answer{}))

	l := serveTCP(t, s, "127.0.0.1:0")
	l.SetDeadline(past)
	c = dial(t, l.Addr())
	send(t, c, framed(query))
	l.SetDeadline(time.Time{})
	equal(t, receiveFrame(t, c), reply(t, query, Answer{}))
}

// TestFailuresEnd: one that goes on failing is given up, with the reason.
func TestFailuresEnd(t *testing.T) {
	t.Parallel()
	s := &Server{Handler: always(Answer{})}
	u, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer u.Close()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	u.SetReadDeadline(time.Unix(1, 0))
	l.SetDeadline(time.Unix(1, 0))
	both := make(chan error, 2)
	go func() { both <- s.ServeUDP(u) }()
	go func() { both <- s.ServeTCP(l) }()
	for range 2 {
		if err := <-both; err == nil {
			t.Error("no error")
		}
	}
}
