package lending

import (
	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Open begins to serve, through the gate that is about to open. own are sites of the
// supervisor itself.
func Open(b *broker.Broker, of launch.Brokered, g launch.Gateway, own ...broker.Site) error {
	for _, ready := range of.Ready {
		ready(g)
	}
	var sites []broker.Site
	for _, make := range of.Sites {
		site, err := make(g, b)
		if err != nil {
			return err
		}
		sites = append(sites, site)
	}
	sites = append(sites, own...)
	for i, site := range sites {
		sites[i].Handler = broker.Search(g.Decoys(), func(host, decoy, form string) bool {
			if site.Model {
				g.Mentioned(host, decoy, form)
			} else {
				g.Caught(host, decoy, form)
			}
			return !site.Model
		}, site.Handler)
	}
	return b.Start(sites)
}

// Bare is a broker without a credential, that has one host and serves nobody there.
func Bare(session string, host address.Name) (*broker.Broker, error) {
	b, err := broker.New(session, nil, policy.Commons{})
	if err == nil {
		b.Shut(host, "it is the broker's")
	}
	return b, err
}
