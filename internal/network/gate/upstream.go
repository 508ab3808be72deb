package gate

import (
	"context"
	"errors"
	"net"
	"sync"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/relay"
	"ringfence.dev/ringfence/internal/network/upstream"
)

// byProxied is what the journal has for the address of what a proxy connected to.
const byProxied = "by proxy"

// unnamedError is a name that the host's resolver does not know, and that no rule names.
type unnamedError struct{ err error }

func (e *unnamedError) Error() string {
	return dialReason(e.err) + "; the upstream proxy looks up only what a rule names"
}

// byProxy asks the proxy for a target. What a rule names goes to it as a name: it looks
// it up, often the host could not, and where that leads is beyond the guard. What only
// the mode covers could be a name that the agent made for an internal address; it is
// looked up here, judged, and asked for by the address. One address of several that is
// closed is enough to say no.
func (d *dialler) byProxy(ctx context.Context, t address.Target, named bool) (relay.Conn, string, error) {
	if what, never := t.Name.Never(); never {
		return nil, "", &closedError{"the name stands for " + what + ", at the upstream proxy too"}
	}
	if t.Name == "" || !named {
		var err error
		if t, err = d.judged(ctx, t); err != nil {
			return nil, "", err
		}
	}
	c, err := d.proxy.Connect(ctx, t, dialling, dialReason)
	return c, byProxied, err
}

// reachClear is reach for requests in the clear. Where a proxy takes them whole, and the
// name is its to look up, via is that proxy and the connection its own.
func (d *dialler) reachClear(ctx context.Context, t address.Target, named bool) (c relay.Conn, addr string, via *upstream.Proxy, err error) {
	_, never := t.Name.Never()
	if p := d.proxy; p != nil && p.Forwards() && !p.Skips(t) && named && t.Name != "" && !never {
		ctx, cancel := context.WithTimeout(ctx, dialling)
		defer cancel()
		c, err = p.Dial(ctx, dialReason)
		return c, byProxied, p, err
	}
	c, addr, err = d.reach(ctx, t, named)
	return c, addr, nil, err
}

// offer asks the proxy for a host that the user named, whatever the rules say. It is left
// to be dialled directly where the host's own resolver knows it to be internal, as a
// gateway of the company's is; asked is false then, and where there is no proxy for it.
func (d *dialler) offer(ctx context.Context, t address.Target) (c relay.Conn, asked bool, err error) {
	if _, never := t.Name.Never(); d.proxy == nil || t.Name == "" || never || d.proxy.Skips(t) {
		return nil, false, nil
	}
	addrs, err := d.names.find(ctx, t.Name)
	for _, a := range addrs {
		if _, closed := address.Closed(a); closed && err == nil {
			return nil, false, nil
		}
	}
	c, err = d.proxy.Connect(ctx, t, dialling, dialReason)
	return c, true, err
}

// ByProxy connects to a host that the user named, by the upstream proxy; asked is false
// where that is not its way.
func (g *Gate) ByProxy(ctx context.Context, t address.Target) (c net.Conn, asked bool, err error) {
	conn, asked, err := g.dialler.offer(ctx, t)
	if err != nil {
		return nil, true, &address.Unreached{Reason: dialReason(err)}
	}
	return conn, asked, nil
}

// judged is a target as an address, with all that its name has judged.
func (d *dialler) judged(ctx context.Context, t address.Target) (address.Target, error) {
	if t.Name != "" {
		addrs, err := d.names.find(ctx, t.Name)
		if err != nil {
			return t, &unnamedError{err}
		}
		for _, a := range addrs {
			if err := d.guard.refuses(a, t.Port); err != nil {
				return t, &closedError{err.Error()}
			}
		}
		if len(addrs) == 0 {
			return t, &unnamedError{errNoAddress}
		}
		return address.Target{Addr: addrs[0], Port: t.Port}, nil
	}
	if err := d.guard.refuses(t.Addr, t.Port); err != nil {
		return t, &closedError{err.Error()}
	}
	return t, nil
}

// refusal is the decision that an error of dialling stands for: the guard's, or that of
// the proxy, which a person is told of.
func (g *Gate) refusal(t address.Target, err error) (Decision, bool) {
	var closed *closedError
	if errors.As(err, &closed) {
		return Decision{Verdict: Deny, Rule: RuleRanges, Reason: closed.Error()}, true
	}
	var proxy *upstream.Error
	if !errors.As(err, &proxy) || !proxy.Refused {
		return Decision{}, false
	}
	g.told.once(t.Host()+": "+proxy.Error(), g.conf.Refused)
	return Decision{Verdict: Deny, Rule: journal.RuleUpstream, Reason: proxy.Error()}, true
}

// told are the refusals of the proxy that a person has heard of.
type told struct {
	mu    sync.Mutex
	texts map[string]bool
}

// maxTold bounds what an agent can have said on a person's terminal by asking for many
// names.
const maxTold = 16

func (s *told) once(text string, tell func(string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if tell == nil || s.texts[text] || len(s.texts) == maxTold {
		return
	}
	if s.texts == nil {
		s.texts = map[string]bool{}
	}
	s.texts[text] = true
	tell(text)
}
