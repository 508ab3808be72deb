package lending

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// home is a host that secrets are for: one for the whole of it, or several, each below a
// path of its own, as managers of repositories have them.
type home struct {
	name  address.Name
	url   *url.URL // https://HOST[:PORT]
	parts []homePart
	forge launch.SiteFunc // serves what is below none of the paths; may be nil
	read  bool            // the rules open the host by themselves
}

// homePart is what one secret has of a host.
type homePart struct {
	base    string
	off     string // not "": why the secret is not used
	service broker.Service
}

// homeOf finds where a secret is for a host, and keeps others from it. A secret that a
// project's file switches off stands in others' way as it did before.
func (sv *services) homeOf(value string) (*home, string, error) {
	to, err := policy.ParseHome(value)
	if err != nil {
		return nil, "", err
	}
	at := hostText(to.Host)
	if at == "" {
		return nil, "", fmt.Errorf("%s: only a host by its name, by TLS, can be brokered", value)
	}
	for _, h := range sv.homes {
		if h.name != to.Host.Name {
			continue
		}
		if h.url.Host != at || slices.ContainsFunc(h.parts, func(p homePart) bool { return policy.Meets(p.base, to.Base) }) {
			return nil, "", fmt.Errorf("%s is the host of another secret too: give each a path of its own, --host %[1]s/PATH", at)
		}
		return h, to.Base, nil
	}
	if err := sv.Brokered.Claim(to.Host.Name); err != nil {
		return nil, "", err
	}
	h := &home{name: to.Host.Name, url: &url.URL{Scheme: "https", Host: at}}
	sv.homes = append(sv.homes, h)
	return h, to.Base, nil
}

// openHomes makes the hosts of secrets the broker's. One whose secrets are all switched
// off is closed.
func (sv *services) openHomes() error {
	for _, h := range sv.homes {
		if i := slices.IndexFunc(h.parts, func(p homePart) bool { return p.off != "" }); i >= 0 && !slices.ContainsFunc(h.parts, func(p homePart) bool { return p.off == "" }) {
			sv.Brokered.Shut(h.name, h.parts[i].off)
			sv.Brokered.Hosts[len(sv.Brokered.Hosts)-1].Claimed = true
			continue
		}
		if err := sv.Brokered.OwnAt(h.name, h.url.Port()); err != nil {
			return err
		}
		h.read = slices.ContainsFunc(sv.Reach.Allow, func(e policy.Entry) bool {
			proto, on := e.Rule.On(443)
			return on && proto == address.TLS && e.Rule.Whole() && e.Rule.Covers(h.name)
		})
		sv.Brokered.Sites = append(sv.Brokered.Sites, h.site)
	}
	return nil
}

// homeAt is the host of secrets that have paths of it, and not the whole.
func (sv *services) homeAt(at string) *home {
	for _, h := range sv.homes {
		if h.url.Host == at && sv.Brokered.Serves(h.name) && !slices.ContainsFunc(h.parts, func(p homePart) bool { return p.base == "" }) {
			return h
		}
	}
	return nil
}

// site serves a host, once there is a gate.
func (h *home) site(g launch.Gateway, b *broker.Broker) (broker.Site, error) {
	site := broker.Site{Hosts: []address.Name{h.name}}
	paths := &broker.Paths{Host: h.url.Host, Record: g.Record}
	for _, p := range h.parts {
		if p.off != "" {
			paths.Closed(p.base, p.off)
			continue
		}
		svc := p.service
		svc.Transport, svc.Record = broker.Transport(g.Reach, g.Roots(), g.Record), g.Record
		paths.Add(p.base, svc.Handler())
	}
	if h.forge != nil {
		forge, err := h.forge(g, b)
		if err != nil {
			return site, err
		}
		paths.Rest = forge.Handler
	}
	site.Handler = paths
	if h.read && h.forge == nil {
		site.Takes = func(r *http.Request) bool { return paths.Takes(r) }
	}
	return site, nil
}
