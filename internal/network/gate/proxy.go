package gate

import (
	"bufio"
	"io"
	"net"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/network/httpfwd"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// proxied is the endpoint for programs that insist on a proxy: CONNECT, requests in
// absolute form, SOCKS5. It decides as everything else does, and what is tunnelled
// is held to its protocol as if it had come without a proxy.
func (g *Gate) proxied(c rung.Conn) {
	c.SetReadDeadline(time.Now().Add(handshake))
	k := &call{g: g, id: g.calls.Add(1), client: c}
	if local, ok := c.LocalAddr().(*net.TCPAddr); ok {
		k.to = local.AddrPort()
	}
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	if err != nil {
		reset(k.client)
		return
	}
	// What the request is for is read before it is judged, and may be no name at all.
	if look := k.inspector(); look != nil {
		if all, err := r.Peek(r.Buffered()); err == nil && look(all) != nil {
			reset(k.client)
			return
		}
	}
	if first[0] == 5 || first[0] == 4 {
		k.socks(r)
		return
	}
	head, err := httpfwd.ReadHead(r)
	k.heard = true
	if err != nil {
		k.via = "http"
		k.badRequest(err)
		return
	}
	k.accept = head.Accept
	switch head.Form {
	case httpfwd.Authority:
		k.connect(head, r)
	case httpfwd.Absolute:
		k.absolute(head, r)
	default:
		k.via = "http"
		k.badRequest(&httpfwd.Error{Status: httpfwd.BadRequest, Reason: "this is a proxy: it takes CONNECT and http:// targets"})
	}
}

// connect is CONNECT. The target is the request's own: the Host field says nothing.
func (k *call) connect(head *httpfwd.Head, r *bufio.Reader) {
	k.via = "connect"
	t, err := address.ParseTarget(head.Authority)
	if err != nil {
		k.badRequest(&httpfwd.Error{Status: httpfwd.BadRequest, Reason: "the target is not HOST:PORT: " + err.Error()})
		return
	}
	k.target = k.g.pool.target(t)
	if !k.decide() && !mutated("proxy") {
		k.refuse()
		return
	}
	if r.Buffered() > 0 {
		k.badRequest(&httpfwd.Error{Status: httpfwd.BadRequest, Reason: "nothing may follow CONNECT before its answer"})
		return
	}
	k.tunnel(func() error {
		_, err := io.WriteString(k.client, "HTTP/1.1 200 Connection established\r\n\r\n")
		return err
	})
}

// socks is SOCKS5 with names.
func (k *call) socks(r *bufio.Reader) {
	k.via = "socks"
	s := socks{struct {
		io.Reader
		io.Writer
	}{&searchedReader{r, k.inspector()}, k.client}}
	t, err := s.target()
	if err != nil || r.Buffered() > 0 {
		k.rule = Decision{Verdict: Deny, Rule: "strict SOCKS5", Reason: "the request is not one that the gate takes"}
		k.denied()
		reset(k.client)
		return
	}
	k.target = address.Target{Addr: t.addr, Port: t.port}
	if !t.addr.IsValid() {
		k.target.Name, err = address.ParseName(t.name)
	}
	if err != nil {
		k.rule = Decision{Verdict: Deny, Rule: "names of hosts", Reason: "this is not the name of a host"}
		k.denied()
		s.reply(socksNotAllowed)
		return
	}
	k.target = k.g.pool.target(k.target)
	if !k.decide() {
		s.reply(socksNotAllowed)
		k.refuse()
		return
	}
	k.tunnel(func() error { return s.reply(socksSuccess) })
}

// tunnel says yes and goes on as if the client had connected by itself: a refusal
// from here on is a reset, since whatever we would say belongs to the tunnel.
func (k *call) tunnel(yes func() error) {
	k.client.SetDeadline(time.Now().Add(handshake))
	if yes() != nil {
		reset(k.client)
		return
	}
	k.mute, k.heard = k.rule.Proto != address.HTTP, false
	k.proceed()
}

// absolute is one request in absolute form. The connection ends with its answer, so
// that the next request is judged on its own.
func (k *call) absolute(head *httpfwd.Head, r *bufio.Reader) {
	k.via, k.proto = "http", string(address.HTTP)
	t, err := address.ParseTarget(withPort(head.Authority))
	if err != nil {
		k.badRequest(&httpfwd.Error{Status: httpfwd.BadRequest, Reason: "the target's host is not valid: " + err.Error()})
		return
	}
	k.target = k.g.pool.target(t)
	if !k.decide() {
		k.refuse()
		return
	}
	if k.rule.Proto == address.TLS || k.g.broker.own(k.target) && k.g.broker.clear(k.target) == nil {
		k.badRequest(&deniedError{Decision{Verdict: Deny, Rule: k.rule.Rule, Source: k.rule.Source, Reason: "this port is for TLS"}})
		return
	}
	if k.target.Name != "" {
		head.Authority = hostField(k.target)
	}
	if err := k.judge(head); err != nil {
		k.badRequest(err)
		return
	}
	k.owner = k.g.owners.ask(k.client, k.to, false)
	if !k.recorded(head.Method) {
		return
	}
	origin, addr, via, err := k.g.dialler.reachClear(k.g.ctx, k.target, k.rule.Named)
	if k.addr = addr; err != nil {
		k.failed(err)
		return
	}
	if !k.g.sockets.hold(origin) {
		return
	}
	defer k.g.sockets.release(origin)
	if !k.joins(origin) {
		return
	}
	k.client.Unread(keepAlive) // what it is sent, and is in nobody's hands
	head.Close = true
	(&exchange{call: k, client: k.client, origin: origin, via: via, in: r}).run(head)
}

// withPort adds the port that http:// means.
func withPort(authority string) string {
	if i := strings.LastIndexAny(authority, ":]."); i >= 0 && authority[i] == ':' {
		return authority
	}
	return authority + ":80"
}
