package gate

import (
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// Broker keeps credentials and uses them on the agent's behalf. Connections to its
// hosts are handed to it and nobody else: whatever a client brings along of its own,
// a key or a token, has no way around it.
type Broker interface {
	// Owns reports whether the broker alone speaks to a host.
	Owns(address.Name) bool
	// Closed says why an owned host is not served by TLS; "" if it is.
	Closed(address.Name) string
	// Clear judges requests in the clear to a host that may be read so, and says why
	// one is refused; it is nil for hosts that are served by TLS alone.
	Clear(address.Name) func(serviceapi.Request) string
	// Serve speaks TLS with a client of a host that it owns, until the end.
	Serve(c net.Conn, host address.Name)
	// Local serves a client of the endpoint inside, until the end.
	Local(c net.Conn)
}

// brokerHosts are the hosts that the broker alone speaks to.
type brokerHosts struct{ broker Broker } // nil: there are none

func (h brokerHosts) own(t address.Target) bool {
	return h.broker != nil && t.Name != "" && h.broker.Owns(t.Name) && !mutated("broker")
}

// closes says why the broker takes no connection to a host of its own that the rules
// let pass; "" if it does.
func (h brokerHosts) closes(t address.Target, d Decision) string {
	why, clear := h.broker.Closed(t.Name), h.clear(t)
	switch {
	case why != "" || t.Port == 443 || clear != nil && d.Proto == address.HTTP:
		return why
	case clear != nil:
		return "anybody can write to this host with a key of his own: it is read by https alone"
	case d.Proto != address.TLS:
		return "ringfence keeps the credential of this host and speaks to it by https alone"
	}
	return ""
}

// clear is what judges requests in the clear to a target; nil where nobody has to.
func (h brokerHosts) clear(t address.Target) func(serviceapi.Request) string {
	if !h.own(t) {
		return nil
	}
	return h.broker.Clear(t.Name)
}

// refuses says why a request in the clear must not reach a host of the broker's; "" if
// it may.
func (h brokerHosts) refuses(t address.Target, head *httpfwd.Head) string {
	judge := h.clear(t)
	switch {
	case judge == nil:
		return ""
	case head.Upgrade:
		return "another protocol could not be judged"
	}
	path, query, _ := strings.Cut(head.Target, "?")
	return judge(serviceapi.Request{Method: head.Method, Path: path, Query: query, Header: head.Fields(), Length: head.Length})
}

// brokered hands a connection over, once its hello names the right host. There is no
// other way to a host of the broker's than TLS.
func (k *call) brokered() {
	if why := k.g.broker.closes(k.target, k.rule); why != "" {
		k.rule = Decision{Verdict: Deny, Rule: RuleBroker, Reason: why}
		k.refuse()
		return
	}
	k.proto = string(address.TLS)
	if !k.recorded("") {
		return
	}
	raw, err := k.hello()
	if errors.Is(err, errUnused) {
		k.unused()
		return
	}
	if err != nil {
		k.rule = Decision{Verdict: Deny, Rule: k.rule.Rule, Source: k.rule.Source, Reason: err.Error()}
		k.refuse()
		return
	}
	k.client.SetDeadline(time.Time{})
	k.first = append(raw, k.first...)
	c := &counted{Conn: k.client, call: k}
	k.g.conf.Broker.Serve(c, k.target.Name)
	k.state = journal.Brokered
	k.ended(c.up.Load(), c.down.Load(), nil)
}

// counted is a client's connection whose first bytes were read already.
type counted struct {
	net.Conn
	call     *call
	up, down atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.call.Read(b)
	c.up.Add(int64(n))
	return n, err
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.down.Add(int64(n))
	return n, err
}

// Reach connects to a host on the broker's behalf: what the rules do not allow is not
// dialled, and the address passes the guard as every other. What fails is Unreached.
func (g *Gate) Reach(ctx context.Context, t address.Target) (net.Conn, error) {
	state := g.open.state()
	d := g.rules.Decide(Request{Target: t})
	if d.Verdict != Allow {
		return nil, &address.Unreached{Reason: "no rule allows this host"}
	}
	c, addr, err := g.dialler.reach(ctx, t, d.Named)
	if err != nil {
		if d, no := g.refusal(t, err); no {
			g.records.refuseNow(journal.Record{Event: journal.Decision, Verdict: journal.Deny, Via: "broker", Name: string(t.Name), Port: t.Port, Rule: d.Rule, Reason: d.Reason})
			return nil, &address.Unreached{Reason: d.Reason}
		}
		return nil, &address.Unreached{Reason: dialReason(err)}
	}
	var to netip.AddrPort
	if a, err := netip.ParseAddr(addr); err == nil {
		to = netip.AddrPortFrom(a, t.Port)
	}
	if held := g.lent(state, c, to, func() bool { return g.rules.Decide(Request{Target: t}).Verdict == Allow }); held != nil {
		return held, nil
	}
	return nil, &address.Unreached{Reason: "no rule allows this host any more"}
}

// Roots are whom the broker believes to be the host that it reached.
func (g *Gate) Roots() *x509.CertPool { return g.conf.Roots }

// Record writes down what the broker did. It fails where the journal does: then the
// broker does nothing.
func (g *Gate) Record(r journal.Record) error {
	if r.Verdict == journal.Deny {
		g.records.refuseNow(r) // which bounds how fast a client can fill the journal
		return nil
	}
	return g.records.write(r)
}

// Denies reports whether a rule of the user's denies a target, or he took it back, whoever
// asks.
func (g *Gate) Denies(t address.Target) bool {
	if t.Name == "" {
		return g.DeniesAddress(t.Addr, t.Port)
	}
	_, denied := g.rules.denied(Request{Target: t})
	if _, back := g.rules.takenBack(Request{Target: t}); back && !denied {
		denied = g.rules.Decide(Request{Target: t}).Verdict != Allow // nobody granted it since
	}
	return denied
}

// DeniesAddress reports whether a rule of the user's denies an address, whatever leads there.
func (g *Gate) DeniesAddress(a netip.Addr, port uint16) bool {
	_, denied := g.rules.deniedAddress(a, port)
	return denied
}
