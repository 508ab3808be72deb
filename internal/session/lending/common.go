package lending

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/gitproxy"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/session/launch"
)

// commons makes the hosts on which anybody can write the broker's: an account of the
// agent's own there would be a way out for all that it has read. Where this session
// has a repository or a credential, the host's own site stands before this one. Being
// common opens nothing: the rules must allow a host.
func (fs *forges) commons() error {
	var err error
	if fs.Brokered.Commons, err = fs.Policy.Commons(); err != nil || len(fs.Brokered.Commons.List) == 0 {
		return err
	}
	for _, c := range fs.Brokered.Commons.List {
		name := string(c.Rule.Name)
		if c.Git && fs.Brokered.Commons.Has(c.Rule.Name) && !slices.Contains(fs.Brokered.Forged, name) {
			fs.Rewrites = append(fs.Rewrites, gitproxy.InsteadOf("https://"+name, name)...)
		}
	}
	fs.Brokered.Sites = append(fs.Brokered.Sites, func(g launch.Gateway, b *broker.Broker) (broker.Site, error) {
		plain := broker.Transport(g.Reach, g.Roots(), g.Record)
		return broker.Site{Common: true, Handler: broker.Common{Judge: b.Judge(), Transport: plain, Record: g.Record,
			Git: func(n address.Name) (http.Handler, error) { return readGit(fs.Dirs.State, n, plain, g) }}.Handler()}, nil
	})
	return nil
}

// readGit speaks git with a host on which this session has no repository.
func readGit(state string, n address.Name, plain http.RoundTripper, g launch.Gateway) (http.Handler, error) {
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
