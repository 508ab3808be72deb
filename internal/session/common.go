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
)

// commons makes the hosts on which anybody can write the broker's: an account of the
// agent's own there would be a way out for all that it has read. Where this session
// has a repository or a credential, the host's own site stands before this one. Being
// common opens nothing: the rules must allow a host.
func (fs *forges) commons() error {
	var err error
	if fs.brokered.commons, err = fs.Policy.Commons(); err != nil || len(fs.brokered.commons.List) == 0 {
		return err
	}
	for _, c := range fs.brokered.commons.List {
		name := string(c.Rule.Name)
		if c.Git && fs.brokered.commons.Has(c.Rule.Name) && !slices.Contains(fs.brokered.forged, name) {
			fs.rewrites = append(fs.rewrites, gitproxy.InsteadOf("https://"+name, name)...)
		}
	}
	fs.brokered.sites = append(fs.brokered.sites, func(g gateway, b *broker.Broker) (broker.Site, error) {
		plain := broker.Transport(g.Reach)
		return broker.Site{Common: true, Handler: broker.Common{Judge: b.Judge(), Transport: plain, Record: g.Record,
			Git: func(n address.Name) (http.Handler, error) { return readGit(fs.dirs.State, n, plain, g) }}.Handler()}, nil
	})
	return nil
}

// readGit speaks git with a host on which this session has no repository.
func readGit(state string, n address.Name, plain http.RoundTripper, g gateway) (http.Handler, error) {
	spool := filepath.Join(state, "spool")
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
