package dns

import (
	"context"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"ringfence.dev/ringfence/test/wait"
)

// TestTCPInOrder: queries sent in one go are answered one by one, the slow before
// the quick that came after it, and a malformed one in its turn.
func TestTCPInOrder(t *testing.T) {
	g := newGate(t)
	s := &Server{Handler: func(ctx context.Context, q Question, via string, from netip.AddrPort) Answer {
		if q.Name == "slow.test" {
			return g.handle(ctx, q, via, from)
		}
		return Answer{Code: dnsmessage.RCodeRefused, EDE: 15, Text: "no"}
	}}
	c := dial(t, serveTCP(t, s, "127.0.0.1:0").Addr())
	slow, quick := plain(1, "slow.test", 1), edns(3, "quick.test", 28, 512)
	long := make([]byte, 60000)
	long[1] = 4
	send(t, c, join(framed(slow), framed(head(2, 0, 9, 9, 9, 9)), framed(quick), framed(long), framed(quick)))
	<-g.asked
	g.open()
	equal(t, receiveFrame(t, c), reply(t, slow, Answer{V4: v4, TTL: 60}))
	equal(t, receiveFrame(t, c), head(2, 0x8081, 0, 0, 0, 0))
	equal(t, receiveFrame(t, c), reply(t, quick, Answer{Code: dnsmessage.RCodeRefused, EDE: 15, Text: "no"}))
	equal(t, receiveFrame(t, c), head(4, 0x8081, 0, 0, 0, 0))
	equal(t, receiveFrame(t, c), reply(t, quick, Answer{Code: dnsmessage.RCodeRefused, EDE: 15, Text: "no"}))
}

// TestTCPHalfClose: a client that has sent all it has still gets its answers.
func TestTCPHalfClose(t *testing.T) {
	s := &Server{Handler: always(Answer{V4: v4})}
	c := dial(t, serveTCP(t, s, "127.0.0.1:0").Addr())
	query := plain(1, "a.test", 1)
	send(t, c, join(framed(query), framed(query)))
	c.(*net.TCPConn).CloseWrite()
	equal(t, receiveFrame(t, c), reply(t, query, Answer{V4: v4}))
	equal(t, receiveFrame(t, c), reply(t, query, Answer{V4: v4}))
	closed(t, c)
}

// TestTCPCloses: what ends a connection.
func TestTCPCloses(t *testing.T) {
	s := &Server{Handler: always(Answer{}), limits: limits{idle: 50 * time.Millisecond}}
	l := serveTCP(t, s, "127.0.0.1:0")
	query := plain(1, "a.test", 1)
	for _, tt := range []struct {
		what string
		sent []byte
	}{
		{"nothing sent", nil},
		{"half a length", []byte{0}},
		{"half a query", framed(query)[:10]},
		{"message of no bytes", []byte{0, 0}},
		{"half a header", framed(make([]byte, 11))},
		{"an answer", framed(head(1, bitQR, 0, 0, 0, 0))},
		{"not DNS", []byte("GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")},
	} {
		t.Run(tt.what, func(t *testing.T) {
			c := dial(t, l.Addr())
			send(t, c, tt.sent)
			closed(t, c)
		})
	}
}

// TestTCPSlowQuery: a query that trickles in does not keep its connection by each
// of its bytes.
func TestTCPSlowQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // whose clock goes on when all wait for it
		const idle, pace = 50 * time.Second, 5 * time.Second
		s := &Server{Handler: always(Answer{})}
		c, served := net.Pipe()
		go func() {
			s.converse(t.Context(), served, netip.AddrPort{}, idle)
			served.Close()
		}()
		began, sent := time.Now(), 0
		for _, b := range framed(make([]byte, 20000)) {
			if _, err := c.Write([]byte{b}); err != nil {
				break
			}
			sent++
			<-time.After(pace)
		}
		if took := time.Since(began); took < idle || took > idle+pace {
			t.Errorf("the connection was kept for %v and %d bytes, not for %v", took, sent, idle)
		}
	})
}

// TestTCPSlowReader: a client that asks and asks and takes no reply loses its
// connection, and its place is free again.
func TestTCPSlowReader(t *testing.T) {
	s := &Server{Handler: always(Answer{}), limits: limits{idle: 50 * time.Millisecond, conns: 1}}
	l := serveTCP(t, s, "127.0.0.1:0")
	c := dial(t, l.Addr())
	query := framed(plain(1, name253, 1))
	for {
		if _, err := c.Write(query); err != nil {
			break // reset
		}
	}
	placeIsFree(t, l.Addr())
}

// placeIsFree fails unless a new connection gets an answer sooner or later.
func placeIsFree(t *testing.T, to net.Addr) {
	t.Helper()
	wait.Eventually(t, "a place that is free", func() bool {
		c := dial(t, to)
		c.Write(framed(plain(1, "a.test", 1)))
		_, err := io.ReadFull(c, make([]byte, 2))
		return err == nil
	})
}

// TestTCPConnections: of connections beyond the bound each is closed at once, and
// those within are not disturbed.
func TestTCPConnections(t *testing.T) {
	s := &Server{Handler: always(Answer{V4: v4}), limits: limits{conns: 3}}
	l := serveTCP(t, s, "127.0.0.1:0")
	query := plain(1, "a.test", 1)
	var within []net.Conn
	for range 3 {
		c := dial(t, l.Addr())
		send(t, c, framed(query))
		equal(t, receiveFrame(t, c), reply(t, query, Answer{V4: v4}))
		within = append(within, c)
	}
	for range 20 {
		closed(t, dial(t, l.Addr()))
	}
	for _, c := range within {
		send(t, c, framed(query))
		equal(t, receiveFrame(t, c), reply(t, query, Answer{V4: v4}))
	}
	within[0].Close()
	placeIsFree(t, l.Addr())
}

// TestTCPClosesAll: closing the listener ends connections, those that wait for a
// handler as well. That ServeTCP then returns is seen to by serveTCP.
func TestTCPClosesAll(t *testing.T) {
	g := newGate(t)
	s := &Server{Handler: g.handle}
	l := serveTCP(t, s, "127.0.0.1:0")
	waits, idle := dial(t, l.Addr()), dial(t, l.Addr())
	send(t, waits, framed(plain(1, "a.test", 1)))
	<-g.asked
	l.Close()
	closed(t, waits)
	closed(t, idle)
}
