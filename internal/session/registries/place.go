package registries

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/netrc"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
	"ringfence.dev/ringfence/internal/sandbox/plan"
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

	files http.RoundTripper // where it is a directory of the host; nil: it is none
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
	if p.login != nil || host == "" || by == project || ds.AgentWrites(path) {
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
	if u.Scheme == "file" {
		p.directory()
		return p
	}
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

// directory has a registry answer that is a directory of the host. One that an agent can
// write is not read: what it plants there would be read by us.
func (p *place) directory() {
	root, err := os.OpenRoot(p.base.Path)
	if err == nil && p.doors.AgentWrites(p.base.Path) {
		root.Close()
		err = errors.New("an agent can write it")
	}
	if err != nil {
		p.doors.Warn(fmt.Sprintf("the registry %s of this host is not read: %v", plan.Show(p.base.Path), err))
		return
	}
	files := http.NewFileTransportFS(root.FS()) // which follows no link out of it
	p.files = trip(func(r *http.Request) (*http.Response, error) {
		q, u := r.Clone(r.Context()), *r.URL
		u.Path, u.RawPath = strings.TrimPrefix(u.Path, p.base.Path), ""
		q.URL = &u
		return files.RoundTrip(q)
	})
}

type trip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (t trip) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

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
	s := &upstream.Site{Base: p.base, Login: p.login != nil, Trip: p.files}
	if p.base.Scheme == "file" {
		return s
	}
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

// store is where what this place sends is kept: what the public registries give to everybody
// is for all.
func (p *place) store() *store.Store {
	if p.by == tools && p.login == nil {
		return p.doors.store
	}
	return p.doors.store.Of((&upstream.Site{Base: p.base, Login: p.login != nil}).Name())
}

// reach is the way to a registry that the user named: as the rules have it, else straight,
// also to a private address. What a rule denies stays denied.
func (p *place) reach(g launch.Gateway) broker.Reach {
	direct := lending.Direct(p.doors.Base, g, false)
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

// keyring names, once for a host, a login that a program of the host would be asked for. It
// is not run unless the user's policy names it: settings of package managers are written by
// many, and what they name would run outside.
func (ds *doors) keyring(use, host string) {
	if host == "" || ds.asked[host] || ds.lent(host) {
		return
	}
	if ds.asked == nil {
		ds.asked = map[string]bool{}
	}
	ds.asked[host] = true
	ds.Notice(fmt.Sprintf("the login of %s is in a keyring, which is not asked: lend it by `ringfence secret set NAME --use %s --host %s -- COMMAND`", host, use, host))
}

// lent holds for a host that a secret of the user's policy is for.
func (ds *doors) lent(host string) bool {
	return slices.ContainsFunc(ds.Policy.Secret, func(s policy.Secret) bool {
		return slices.ContainsFunc(s.Hosts, func(r policy.Rule) bool {
			at, _, _ := strings.Cut(r.Value, "/")
			return at == host
		})
	})
}

// hostOf is the host of an address; "": it has none.
func hostOf(at string) string {
	u, err := url.Parse(at)
	if err != nil {
		return ""
	}
	return u.Host
}

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
