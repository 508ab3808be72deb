package session

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
)

// home is a host that secrets are for: one for the whole of it, or several, each below a
// path of its own, as managers of repositories have them.
type home struct {
	name  address.Name
	url   *url.URL // https://HOST[:PORT]
	parts []part
	forge func(*gate.Gate) (broker.Site, error) // serves what is below none of the paths; may be nil
	read  bool                                  // the rules open the host by themselves
}

// part is what one secret has of a host.
type part struct {
	base    string
	off     string // not "": why the secret is not used
	service broker.Service
}

// homeOf finds where a secret is for a host, and keeps others from it. A secret that a
// project's file switches off stands in others' way as it did before.
func (d *draft) homeOf(value string) (*home, string, error) {
	to, err := policy.ParseHome(value)
	if err != nil {
		return nil, "", err
	}
	at := hostText(to.Host)
	if at == "" {
		return nil, "", fmt.Errorf("%s: only a host by its name, by TLS, can be brokered", value)
	}
	for _, h := range d.secretHomes {
		if h.name != to.Host.Name {
			continue
		}
		if h.url.Host != at || slices.ContainsFunc(h.parts, func(p part) bool { return policy.Meets(p.base, to.Base) }) {
			return nil, "", fmt.Errorf("%s is the host of another secret too: give each a path of its own, --host %[1]s/PATH", at)
		}
		return h, to.Base, nil
	}
	if err := d.brokered.claim(to.Host.Name); err != nil {
		return nil, "", err
	}
	h := &home{name: to.Host.Name, url: &url.URL{Scheme: "https", Host: at}}
	d.secretHomes = append(d.secretHomes, h)
	return h, to.Base, nil
}

// openHomes makes the hosts of secrets the broker's. One whose secrets are all switched
// off is closed.
func (d *draft) openHomes() error {
	for _, h := range d.secretHomes {
		if i := slices.IndexFunc(h.parts, func(p part) bool { return p.off != "" }); i >= 0 && !slices.ContainsFunc(h.parts, func(p part) bool { return p.off == "" }) {
			d.brokered.shut(h.name, h.parts[i].off)
			d.brokered.hosts[len(d.brokered.hosts)-1].claimed = true
			continue
		}
		if err := d.brokered.ownAt(h.name, h.url.Port()); err != nil {
			return err
		}
		d.brokered.sites = append(d.brokered.sites, h.site)
	}
	return nil
}

// homeAt is the host of secrets that have paths of it, and not the whole.
func (d *draft) homeAt(at string) *home {
	for _, h := range d.secretHomes {
		if h.url.Host == at && d.brokered.serves(h.name) && !slices.ContainsFunc(h.parts, func(p part) bool { return p.base == "" }) {
			return h
		}
	}
	return nil
}

// site serves a host, once there is a gate.
func (h *home) site(g *gate.Gate) (broker.Site, error) {
	site := broker.Site{Hosts: []address.Name{h.name}}
	paths := &broker.Paths{Host: h.url.Host, Record: g.Record}
	for _, p := range h.parts {
		if p.off != "" {
			paths.Closed(p.base, p.off)
			continue
		}
		s := p.service
		s.Transport, s.Record = broker.Transport(g.Reach), g.Record
		paths.Add(p.base, s.Handler())
	}
	if h.forge != nil {
		forge, err := h.forge(g)
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
