package session

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/gitproxy"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
)

// commons makes the hosts on which anybody can write the broker's: an account of the
// agent's own there would be a way out for all that it has read. Where this session
// has a repository or a credential, the host's own site stands before this one. Being
// common opens nothing: the rules must allow a host.
func (d *draft) commons() error {
	var err error
	if d.brokered.commons, err = d.Policy.Commons(); err != nil || len(d.brokered.commons.List) == 0 {
		return err
	}
	for _, c := range d.brokered.commons.List {
		name := string(c.Rule.Name)
		if c.Git && d.brokered.commons.Has(c.Rule.Name) && !slices.Contains(d.forged, name) {
			d.rewrites = append(d.rewrites, gitproxy.InsteadOf("https://"+name, name)...)
		}
	}
	d.brokered.sites = append(d.brokered.sites, func(g *gate.Gate) (broker.Site, error) {
		plain := broker.Transport(g.Reach)
		return broker.Site{Common: true, Handler: broker.Common{Judge: d.broker.Judge(), Transport: plain, Record: g.Record,
			Git: func(n address.Name) (http.Handler, error) { return d.readGit(n, plain, g) }}.Handler()}, nil
	})
	return nil
}

// readGit speaks git with a host on which this session has no repository.
func (d *draft) readGit(n address.Name, plain http.RoundTripper, g *gate.Gate) (http.Handler, error) {
	spool := filepath.Join(d.dirs.State, "spool")
	if err := os.MkdirAll(spool, 0o700); err != nil {
		return nil, err
	}
	at := "https://" + string(n)
	bare := broker.Bare(plain)
	f, err := gitproxy.New(gitproxy.Config{Upstream: at, Self: at, Transport: bare, Anonymous: bare, Storage: bare, Spool: spool, Record: func(e gitproxy.Event) {
		for _, r := range pushed(&forgeHost{name: n}, e) {
			g.Record(r)
		}
	}})
	return broker.Recorded(g.Record, journal.Record{Via: "git", Name: string(n)}, f), err
}
