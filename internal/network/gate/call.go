package gate

import (
	"bufio"
	"errors"
	"net/netip"
	"strconv"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/httpfwd"
	"ringfence.dev/ringfence/internal/network/relay"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// call is one connection from inside, from its beginning to its end.
type call struct {
	g      *Gate
	id     uint64
	via    string // tcp, connect, http, socks
	client rung.Conn
	first  []byte         // of the client, read already
	to     netip.AddrPort // where the client's socket says that it goes
	target address.Target
	rule   Decision
	proto  string
	addr   string // dialled
	owner  *owner
	accept string // how the client wants a refusal to be written
	heard  bool   // a request was read
	state  string // of its end, where it is not the usual one
	mute   bool   // what we would say belongs to a tunnel
	expiry expiry // when the grant that it needs ends
	held   *held  // ends it when what allowed it is taken back; nil: nothing did
}

// captured handles a connection that the sandbox's network turned to us.
func (g *Gate) captured(c rung.Conn) {
	to, err := c.Original()
	if err != nil {
		// Somebody connected to our port itself: there is nothing behind it.
		reset(c)
		return
	}
	k := &call{g: g, id: g.calls.Add(1), via: "tcp", client: c, to: to, target: g.pool.target(address.Target{Addr: to.Addr(), Port: to.Port()})}
	if !k.decide() {
		k.refuse()
		return
	}
	k.proceed()
}

// proceed goes on with what was allowed, by the protocol that it must be. The verdict
// is written down first: what cannot be recorded is not even looked up.
func (k *call) proceed() {
	if k.owner == nil {
		k.owner = k.g.owners.ask(k.client, k.to, false)
	}
	if k.g.broker.own(k.target) && (k.rule.Proto != address.HTTP || k.g.broker.clear(k.target) == nil) {
		k.brokered()
		return
	}
	switch k.rule.Proto {
	case address.TLS, address.HTTP:
		k.proto = string(k.rule.Proto)
	default:
		k.proto = string(address.TCP)
	}
	if !k.recorded("") {
		return
	}
	switch k.rule.Proto {
	case address.TLS:
		k.tls()
	case address.HTTP:
		k.http()
	default:
		k.raw()
	}
}

// recorded writes down that the call, or a request of it, passes. Where it cannot be
// written the call ends.
func (k *call) recorded(method string) bool {
	if k.record(journal.Decision, journal.Allow, method) == nil {
		return true
	}
	k.answer(503, "Service Unavailable", httpfwd.Denial{Rule: "everything is recorded", Reason: "the journal cannot be written", Host: k.target.Host(), Port: k.target.Port})
	return false
}

// decide asks, and where nobody knows yet, waits for a person.
func (k *call) decide() bool {
	for {
		at := k.g.open.state()
		k.rule = k.g.rules.Decide(Request{Target: k.target})
		if k.rule.Verdict == Unknown && !k.rule.Unasked && k.g.asks.waitable(k.target.Name) && k.wait() {
			at = k.g.open.state()
			k.rule = k.g.rules.Decide(Request{Target: k.target})
		}
		if k.rule.Verdict != Allow {
			return false
		}
		if k.held = k.g.open.enter(at, k.client, k.fits); k.held != nil {
			return true
		}
	}
}

// fits reports whether what the call does now is allowed still.
func (k *call) fits() bool {
	q := k.expiry.request()
	if q.Target == (address.Target{}) {
		q = Request{Target: k.target}
	}
	return k.g.rules.Decide(q).Verdict == Allow
}

// raw relays whatever comes: it was judged by name and port alone.
func (k *call) raw() {
	origin, err := k.dial()
	if err != nil {
		k.failed(err)
		return
	}
	k.client.SetDeadline(time.Time{})
	k.carry(origin, relay.Counts{})
}

// dial connects to the target.
func (k *call) dial() (c relay.Conn, err error) {
	c, k.addr, err = k.g.dialler.reach(k.g.ctx, k.target, k.rule.Named)
	return c, err
}

// carry moves bytes until the end. Some were moved before.
func (k *call) carry(origin relay.Conn, before relay.Counts) {
	if !k.joins(origin) {
		k.ended(before.Sent, before.Received, relay.ErrCut)
		return
	}
	o := relay.Options{First: k.first, Idle: idle, Inspect: k.inspector(), Hold: k.held.relayed()}
	relayed := k.g.engine.pair
	if b := k.g.budgets.of(k.target); b != nil || !k.rule.Until.IsZero() {
		o.Inspect, relayed = b.under(o.Inspect), k.g.engine.copy
		k.expiry.set(k.rule.Until, Request{Target: k.target})
		defer k.expiry.watch(&k.g.tasks, k.g.rules, k.client, origin)()
	}
	n, err := relayed(k.client, origin, o)
	k.ended(before.Sent+n.Sent, before.Received+n.Received, err)
}

// ended closes the record of a call.
func (k *call) ended(sent, received int64, err error) {
	if k.owner != nil {
		k.owner.wait()
	}
	r := k.line(journal.End)
	r.Sent, r.Received, r.State = sent, received, k.state
	switch {
	case errors.Is(err, errBudget) || errors.Is(err, errDecoy):
		r.Verdict, r.Reason = journal.Deny, err.Error()
	case k.held.gone():
		r.Verdict, r.Reason = journal.Deny, cutShort
	}
	k.g.records.write(r)
}

// failed tells of an origin that was allowed and not reached, or must not be.
func (k *call) failed(err error) {
	if d, no := k.g.refusal(k.target, err); no {
		k.rule = d
		k.g.rules.learn.failed(k.target, k.rule.Reason)
		k.refuse()
		return
	}
	r := k.line(journal.End)
	r.Reason = "not reached: " + dialReason(err)
	k.g.rules.learn.failed(k.target, r.Reason)
	k.g.records.write(r)
	k.answer(502, "Bad Gateway", k.denial("not reached: "+dialReason(err)))
}

// record writes one line about the call, or about a request of it.
func (k *call) record(event, verdict, method string) error {
	r := k.line(event)
	r.Verdict, r.Method = verdict, method
	return k.g.records.write(r)
}

func (k *call) line(event string) journal.Record {
	r := journal.Record{Event: event, Conn: k.id, Via: k.via, Protocol: k.proto, Name: string(k.target.Name), Addr: k.addr,
		Port: k.target.Port, Rule: k.rule.Rule, Source: k.rule.Source, Reason: k.rule.Reason}
	if k.target.Name == "" && r.Addr == "" {
		r.Addr = k.target.Host()
	}
	if k.owner != nil {
		r.PID, r.Command = k.owner.known()
	}
	return r
}

// Read is what the client sends, from its first byte on.
func (k *call) Read(b []byte) (int, error) {
	if len(k.first) > 0 {
		n := copy(b, k.first)
		k.first = k.first[n:]
		return n, nil
	}
	return k.client.Read(b)
}

// buffered is the same for who reads heads. The buffer takes in at once all that was
// read before, so that what follows it is the connection's own.
func (k *call) buffered() *bufio.Reader {
	return bufio.NewReaderSize(k, max(4096, len(k.first)))
}

func portText(p uint16) string { return strconv.Itoa(int(p)) }
