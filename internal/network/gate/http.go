package gate

import (
	"errors"
	"io"
	"net/url"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// http judges every request of a connection in the clear, and writes each anew for
// the origin: what the origin reads is what was judged.
func (k *call) http() {
	origin := k.dialAhead(true)
	r := k.buffered()
	k.client.SetReadDeadline(time.Now().Add(handshake))
	head, err := httpfwd.ReadHead(r)
	k.heard = true
	if err == nil {
		k.accept = head.Accept
		err = k.judge(head)
	}
	if err != nil {
		origin.cancel()
		k.badRequest(err)
		return
	}
	c, dialErr := origin.take()
	if dialErr != nil {
		k.failed(dialErr)
		return
	}
	if !k.g.sockets.hold(c) {
		return
	}
	defer k.g.sockets.release(c)
	if !k.joins(c) {
		return
	}
	k.client.Unread(keepAlive) // what it is sent, and is in nobody's hands
	if k.recorded(head.Method) {
		(&exchange{call: k, client: k.client, origin: c, via: origin.via, in: r}).run(head)
	}
}

// judge holds a request to the name that the connection was allowed for, and to the
// rules about methods and paths.
func (k *call) judge(h *httpfwd.Head) error {
	host := h.Host
	if h.Form == httpfwd.Absolute {
		host = h.Authority
	}
	if h.Form == httpfwd.Authority {
		return &httpfwd.Error{Status: 405, Reason: "CONNECT is for the proxy endpoint"}
	}
	if !sameHost(k.target, host) {
		return &deniedError{Decision{Verdict: Deny, Rule: k.rule.Rule, Source: k.rule.Source,
			Reason: "the request is for another host than the one that was looked up"}}
	}
	if look := k.inspector(); look != nil && strings.Contains(h.Target, "%") {
		// As a server reads it; what is sent as it stands is searched with all else.
		if plain, err := url.PathUnescape(h.Target); err == nil && look([]byte(plain)) != nil {
			return &deniedError{Decision{Verdict: Deny, Rule: "decoys", Reason: errDecoy.Error()}}
		}
	}
	q := Request{Target: k.target, Method: h.Method, Path: h.Target}
	d := k.g.rules.Decide(q)
	if k.target.Name == "" {
		d = k.rule // a rule about an address speaks of no requests
	}
	if d.Verdict != Allow {
		return &deniedError{d}
	}
	k.rule = d
	k.expiry.set(d.Until, q)
	if why := k.g.broker.refuses(k.target, h); why != "" {
		return &deniedError{Decision{Verdict: Deny, Rule: RuleBroker, Source: k.rule.Source, Reason: why}}
	}
	return nil
}

// deniedError is a request that the rules deny.
type deniedError struct{ d Decision }

func (e *deniedError) Error() string { return e.d.Reason }

// sameHost compares what a request says with what the connection was allowed for.
func sameHost(allowed address.Target, authority string) bool {
	host, port := authority, allowed.Port
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		n, err := address.ParsePort(authority[i+1:])
		if err != nil {
			return false
		}
		host, port = authority[:i], n
	} else if port != 80 {
		return false // without a port the request is for port 80
	}
	t, err := address.ParseHost(host)
	return err == nil && port == allowed.Port && (t.Name == allowed.Name || mutated("host")) && t.Addr == allowed.Addr
}

// badRequest answers what cannot be passed on.
func (k *call) badRequest(err error) {
	var denied *deniedError
	var bad *httpfwd.Error
	switch {
	case errors.As(err, &denied):
		k.rule = denied.d
		k.refuse()
	case errors.As(err, &bad):
		k.rule = Decision{Verdict: Deny, Rule: "strict HTTP", Reason: bad.Reason}
		k.denied()
		k.answer(bad.Status, "Refused", k.denial(bad.Reason))
	case errors.Is(err, errBudget):
		k.rule = Decision{Verdict: Deny, Rule: "budget", Reason: errBudget.Error()}
		k.answer(413, "Content Too Large", k.denial(k.rule.Reason))
	case errors.Is(err, io.EOF):
		k.client.Close()
	default: // too slow, gone, or not recorded
		reset(k.client)
	}
}
