package dns

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"ringfence.dev/ringfence/test/wait"
)

func TestUDPRefuses(t *testing.T) {
	s := &Server{Handler: func(_ context.Context, q Question, _ string, _ netip.AddrPort) Answer {
		if q.Name != "last.test" {
			t.Errorf("the Handler saw %+v", q)
		}
		return Answer{}
	}}
	u := serveUDP(t, s, "127.0.0.1:0")
	last := plain(2, "last.test", 1)
	for _, tt := range []struct {
		what  string
		query []byte
		want  []byte // nil if dropped
	}{
		{"empty", []byte{}, nil},
		{"half a header", make([]byte, 11), nil},
		{"an answer", reply(t, plain(1, "a.test", 1), Answer{}), nil},
		{"no question", head(1, bitRD, 0, 0, 0, 0), head(1, 0x8181, 0, 0, 0, 0)},
		{"pointer", join(head(1, 0, 1, 0, 0, 0), appendWords(nil, 0xc00c, 1, 1)), head(1, 0x8081, 0, 0, 0, 0)},
		{"update", head(1, 5<<11, 1, 0, 1, 0), head(1, 0xa884, 0, 0, 0, 0)},
		{"class CH", join(head(1, 0, 1, 0, 0, 0), appendWords(labels("a.test"), 16, 3)),
			join(head(1, 0x8084, 1, 0, 0, 0), appendWords(labels("a.test"), 16, 3))},
		{"EDNS version 1", join(head(1, 0, 1, 0, 0, 1), section("a.test", 1), opt(4096, 1, 0)),
			join(head(1, 0x8080, 1, 0, 0, 1), section("a.test", 1), opt(1232, 0x0100, 0))},
		{"cut by the buffer to what would be valid", join(head(1, 0, 1, 0, 0, 1), section("a.test", 1),
			opt(4096, 0, 0, padding(MaxQuery-12-12-11)...), make([]byte, 500)), head(1, 0x8081, 0, 0, 0, 0)},
		{"as long as can be", make([]byte, 65507), head(0, 0x8081, 0, 0, 0, 0)},
	} {
		t.Run(tt.what, func(t *testing.T) {
			c := dial(t, u.LocalAddr())
			send(t, c, tt.query)
			if tt.want != nil {
				equal(t, receive(t, c), tt.want)
			}
			send(t, c, last)
			equal(t, receive(t, c), reply(t, last, Answer{}))
		})
	}
}

// TestUDPRandomCase: resolvers that put a nonce into the case of the letters find
// it again.
func TestUDPRandomCase(t *testing.T) {
	s := &Server{Handler: func(_ context.Context, q Question, _ string, _ netip.AddrPort) Answer {
		if q.Name != "a-long.name.example.test" {
			t.Errorf("name %q", q.Name)
		}
		return Answer{V4: v4}
	}}
	c := dial(t, serveUDP(t, s, "127.0.0.1:0").LocalAddr())
	for i := range 50 {
		name := []byte("a-long.name.example.test")
		for j, b := range name {
			if 'a' <= b && b <= 'z' && rand.N(2) == 0 {
				name[j] -= 'a' - 'A'
			}
		}
		send(t, c, plain(uint16(i), string(name), 1))
		equal(t, receive(t, c), join(head(uint16(i), 0x8180, 1, 1, 0, 0), section(string(name), 1),
			[]byte{0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4}, v4.AsSlice()))
	}
}

// TestUDPLine: those that come at once get their turn one after another.
func TestUDPLine(t *testing.T) {
	var inside, handled atomic.Int32
	g := newGate(t)
	s := &Server{limits: limits{handlers: 2, wait: wait.Patience}, Handler: func(ctx context.Context, q Question, via string, from netip.AddrPort) Answer {
		if inside.Add(1) > 2 {
			t.Error("more than two at once")
		}
		defer inside.Add(-1)
		handled.Add(1)
		return g.handle(ctx, q, via, from)
	}}
	c := dial(t, serveUDP(t, s, "127.0.0.1:0").LocalAddr())
	for id := range uint16(50) {
		send(t, c, plain(id, "a.test", 1))
	}
	<-g.asked
	<-g.asked
	g.open()
	for range 50 {
		if got := receive(t, c); got[3]&0xf != 0 {
			t.Errorf("code %d", got[3]&0xf)
		}
	}
	if handled.Load() != 50 {
		t.Errorf("%d of 50 handled", handled.Load())
	}
}

// TestUDPBusy: with every place taken a query is answered all the same, one that
// is sent again takes no second place, and those that wait get their answer.
func TestUDPBusy(t *testing.T) {
	t.Run("the line is full", func(t *testing.T) { testBusy(t, limits{handlers: 2, line: 1, wait: wait.Patience}) })
	t.Run("the wait is over", func(t *testing.T) { testBusy(t, limits{handlers: 3, wait: 1}) })
}

func testBusy(t *testing.T, l limits) {
	g := newGate(t)
	s := &Server{Handler: g.handle, limits: l}
	u := serveUDP(t, s, "127.0.0.1:0")

	waiting := dial(t, u.LocalAddr())
	first, second := plain(1, "a.test", 1), plain(2, "a.test", 1)
	for range 5 {
		send(t, waiting, first)
		send(t, waiting, second)
	}
	other := dial(t, u.LocalAddr())
	send(t, other, first) // another sender, hence another query
	for range l.handlers {
		<-g.asked
	}

	for id := range uint16(100) {
		query := edns(id, "b.test", 1, 512)
		late := dial(t, u.LocalAddr())
		send(t, late, query)
		equal(t, receive(t, late), reply(t, query, busy))
	}
	if n := len(g.asked); n != 0 {
		t.Errorf("%d handlers too many", n)
	}

	g.open()
	got := map[string]bool{string(receive(t, waiting)): true, string(receive(t, waiting)): true}
	for _, query := range [][]byte{first, second} {
		if !got[string(reply(t, query, Answer{V4: v4, TTL: 60}))] {
			t.Errorf("no answer to %x", query)
		}
	}
	equal(t, receive(t, other), reply(t, first, Answer{V4: v4, TTL: 60}))

	send(t, waiting, first) // once answered it may be asked again
	equal(t, receive(t, waiting), reply(t, first, Answer{V4: v4, TTL: 60}))
}

// TestUDPCloses: closing the socket ends handlers that wait. That ServeUDP then
// returns is seen to by serveUDP.
func TestUDPCloses(t *testing.T) {
	g := newGate(t)
	var ended atomic.Int32
	s := &Server{Handler: func(ctx context.Context, q Question, via string, from netip.AddrPort) Answer {
		defer ended.Add(1)
		return g.handle(ctx, q, via, from)
	}}
	t.Cleanup(func() {
		if ended.Load() != 10 {
			t.Errorf("%d of 10 handlers ended", ended.Load())
		}
	})
	u := serveUDP(t, s, "127.0.0.1:0")
	c := dial(t, u.LocalAddr())
	for id := range uint16(10) {
		send(t, c, plain(id, "a.test", 1))
		<-g.asked
	}
}

// TestUDPUnreachable: replies that nobody takes do not end the service.
func TestUDPUnreachable(t *testing.T) {
	s := &Server{Handler: always(Answer{Code: dnsmessage.RCodeRefused})}
	u := serveUDP(t, s, "127.0.0.1:0")
	query := plain(1, "a.test", 1)
	for range 100 {
		c := dial(t, u.LocalAddr())
		send(t, c, query)
		c.Close()
	}
	c := dial(t, u.LocalAddr())
	send(t, c, query)
	equal(t, receive(t, c), reply(t, query, Answer{Code: dnsmessage.RCodeRefused}))
}
