package registries

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/netrc"
	"ringfence.dev/ringfence/internal/registry/upstream"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/lending"
)

// place is a registry that a session fetches from.
type place struct {
	doors  *doors
	base   *url.URL
	by     namer
	closed string // not "": why it is not asked
	login  *login // nil: it is asked without
}

// namer is who names a registry.
type namer int

const (
	tools   namer = iota // they come with it
	user                 // whose own settings name it: it is reached wherever it is
	project              // a file of it, and nobody else
)

func byUser(named bool) namer {
	if named {
		return user
	}
	return tools
}

// login is what is put on requests to one place. It is read when it is used.
type login struct {
	what string // for the journal: where it comes from
	kind string // of the broker: how it is sent
	read func() (value string, ok bool)
}

// place describes a registry whose login may be in netrc. That has names and neither paths
// nor ports: what only a project names gets nothing of it.
func (ds *doors) place(u *url.URL, by namer) *place {
	p := ds.placed(u, by)
	path, host := ds.netrc(), u.Hostname()
	if p.login != nil || by == project || ds.AgentWrites(path) {
		return p
	}
	if _, ok := readNetrc(path, host); ok {
		p.login = &login{"netrc " + host, broker.AsBasic, func() (string, bool) { return readNetrc(path, host) }}
	}
	return p
}

// placed describes a registry. The ceiling stands above what the user names.
func (ds *doors) placed(u *url.URL, by namer) *place {
	p := &place{doors: ds, base: bare(u), by: by}
	if by == user {
		if err := ds.Bound(policy.Entry{Text: u.Hostname()}); err != nil {
			p.closed = err.Error()
			ds.Notice(fmt.Sprintf("the registry %s is not asked: %v", u.Hostname(), err))
		}
	}
	if who := u.User; who != nil {
		pass, _ := who.Password()
		p.login = &login{"the URL of " + u.Hostname(), broker.AsBasic, func() (string, bool) { return who.Username() + ":" + pass, true }}
	}
	return p
}

const maxNetrc = 256 << 10

func readNetrc(path, host string) (value string, ok bool) {
	data, err := file.Read(path, maxNetrc, 0)
	if err != nil {
		return "", false
	}
	l, ok := netrc.Find(data, host)
	return l.User + ":" + l.Password, ok
}

// site is the place once there is a gate. Without a network nobody is asked.
func (p *place) site(g launch.Gateway) *upstream.Site {
	s := &upstream.Site{Base: p.base, Login: p.login != nil}
	if p.doors.offline {
		return s
	}
	note := func(r *http.Request, why string) error {
		rec := journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "registry", Name: r.URL.Hostname(), Method: r.Method, Verdict: journal.Allow, Reason: why}
		if p.login != nil && r.URL.Host == p.base.Host {
			rec.Secret = p.login.what
		}
		return g.Record(rec)
	}
	plain := broker.Bare(broker.Noted(broker.Transport(g.Reach, g.Roots(), g.Record), note))
	s.Other = plain
	reach := broker.Reach(g.Reach)
	if p.by == user {
		reach = p.reach(g)
	}
	if p.login == nil {
		s.Trip = broker.Bare(broker.Noted(broker.Transport(reach, g.Roots(), g.Record), note))
		return s
	}
	s.Trip = broker.CarryAs(broker.Transport(reach, g.Roots(), g.Record), p, note)
	return s
}

// reach is the way to a registry that the user named: as the rules have it, else straight,
// also to a private address. What a rule denies stays denied.
func (p *place) reach(g launch.Gateway) broker.Reach {
	direct := lending.Direct(p.doors.Base, g)
	return func(ctx context.Context, t address.Target) (net.Conn, error) {
		if p.closed != "" {
			return nil, &address.Unreached{Reason: p.closed}
		}
		if g.Denies(t) {
			return nil, &address.Unreached{Reason: "a rule denies it"}
		}
		if c, err := g.Reach(ctx, t); err == nil {
			return c, nil
		}
		return direct(ctx, t)
	}
}

// Get implements broker.Source.
func (p *place) Get(context.Context) (broker.Credential, error) {
	value, ok := p.login.read()
	if !ok {
		return broker.Credential{}, &broker.Missing{Reason: "the host has no login for " + p.base.Host + " any more"}
	}
	return broker.Credential{Secret: p.login.what, Value: value, Kind: p.login.kind}, nil
}

// Stale implements broker.Source: it is read anew each time.
func (p *place) Stale(broker.Credential) {}

// refused records what the brakes held back.
func (ds *doors) refused(g launch.Gateway, tool string) func(*brake.Held) {
	return func(h *brake.Held) {
		g.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "registry", Name: tool, Verdict: journal.Deny, Rule: h.Rule, Reason: h.Why})
	}
}

// left records what an index leaves out. Nobody was refused anything by that yet; a client
// that wants such a release finds none, and cannot tell why.
func (ds *doors) left(g launch.Gateway, tool string) func(*brake.Held) {
	return func(h *brake.Held) {
		g.Record(journal.Record{Kind: journal.Broker, Event: journal.Held, Via: "registry", Name: tool, Rule: h.Rule, Reason: h.Why})
	}
}
