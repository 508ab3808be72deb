package session

import (
	"context"
	"fmt"
	"net"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/leakscan"
	"ringfence.dev/ringfence/internal/policy"
)

// brokered is what the broker of a session serves.
type brokered struct {
	sites  []siteFunc      // made once there is a gate
	ready  []func(gateway) // called then
	hosts  []brokeredHost
	closed []brokeredHost // shut where nobody else has the host
	forged []string       // hosts to which the broker speaks git

	commons policy.Commons
}

// siteFunc makes a site of the broker's, for a session that begins.
type siteFunc func(gateway, *broker.Broker) (broker.Site, error)

// gateway is what the broker needs of the gate.
type gateway interface {
	Reach(context.Context, address.Target) (net.Conn, error)
	Record(journal.Record) error
	Denies(address.Target) bool
	Decoys() *leakscan.Set
	Caught(host, decoy, form string)
	Mentioned(host, decoy, form string)
}

func (b *brokered) add(o brokered) {
	b.sites, b.ready = append(b.sites, o.sites...), append(b.ready, o.ready...)
	b.hosts, b.closed = append(b.hosts, o.hosts...), append(b.closed, o.closed...)
	b.forged = append(b.forged, o.forged...)
	if len(o.commons.List) > 0 {
		b.commons = o.commons
	}
}

// close shuts what nobody has, once all is known.
func (b *brokered) close() {
	for _, h := range b.closed {
		if !b.has(h.name) {
			b.hosts = append(b.hosts, h)
		}
	}
	b.closed = nil
}

// brokeredHost is a host that is the broker's, and that only the broker reaches.
type brokeredHost struct {
	name address.Name
	port uint16
	why  string // not "": TLS to it is refused, for this reason
	// ruled is set where being the broker's opens nothing: the rules must allow it.
	ruled bool
	// claimed is set for a host whose secret is switched off: it is as taken as before.
	claimed bool
}

// has holds for a host that is the broker's.
func (b *brokered) has(n address.Name) bool {
	return slices.ContainsFunc(b.hosts, func(h brokeredHost) bool { return h.name == n })
}

// serves holds for a host for which TLS ends at the broker.
func (b *brokered) serves(n address.Name) bool {
	return slices.ContainsFunc(b.hosts, func(h brokeredHost) bool { return h.name == n && h.why == "" })
}

// claim refuses a host that another secret has.
func (b *brokered) claim(n address.Name) error {
	for _, other := range b.hosts {
		if other.name == n && (other.why == "" || other.claimed) {
			return fmt.Errorf("%s is the host of another secret too", n)
		}
	}
	return nil
}

// own makes a host the broker's.
func (b *brokered) own(n address.Name, why string) {
	b.hosts = append(b.hosts, brokeredHost{name: n, port: 443, why: why})
}

// ownAt makes a host the broker's, for which TLS ends there.
func (b *brokered) ownAt(n address.Name, port string) error {
	h := brokeredHost{name: n, port: 443}
	if port != "" {
		var err error
		if h.port, err = address.ParsePort(port); err != nil {
			return err
		}
	}
	if err := b.claim(n); err != nil {
		return err
	}
	b.hosts = append(b.hosts, h)
	return nil
}

// connect says what the broker reaches, and makes it, still closed: its certificate is
// part of the view.
func connect(b *Base, total Contribution) (made *broker.Broker, out Contribution, err error) {
	if b.Reach.Mode == modeNone {
		return nil, out, nil
	}
	if err := allowBroker(b, total.brokered.hosts, &out); err != nil {
		return nil, out, err
	}
	if made, err = broker.New(b.ID, total.brokered.served(), total.brokered.commons); err != nil {
		return nil, out, err
	}
	for _, h := range total.brokered.hosts {
		if h.why != "" {
			made.Shut(h.name, h.why)
		}
	}
	if own := made.Certificate(); own != nil {
		err = trustBroker(*b, &out, own, total.path)
	}
	return made, out, err
}

// served are the hosts for which TLS ends at the broker, each once.
func (b *brokered) served() (out []address.Name) {
	for _, h := range b.hosts {
		if h.why == "" && !slices.Contains(out, h.name) {
			out = append(out, h.name)
		}
	}
	return out
}

// allowBroker lets the broker reach its hosts: what it serves is allowed by its being
// asked for. The administrator's ceiling and the user's denials stand above that.
func allowBroker(b *Base, hosts []brokeredHost, out *Contribution) error {
	b.Reach.Allow = slices.Clip(b.Reach.Allow)
	for _, h := range hosts {
		if h.ruled {
			continue
		}
		text := string(h.name)
		if h.port != 443 {
			text = fmt.Sprintf("https://%s:%d", h.name, h.port)
		}
		r, err := address.ParseRule(text)
		if err != nil {
			return fmt.Errorf("brokered host %s: %w", h.name, err)
		}
		e := policy.Entry{Rule: r, Text: text, Source: policy.Source{File: "broker"}}
		if err := b.bound(e); err != nil {
			out.notice(fmt.Sprintf("the broker does not reach %s: %v", h.name, err))
			continue
		}
		b.Reach.Allow = append(b.Reach.Allow, e)
	}
	return nil
}

// openBroker begins to serve, through the gate that is about to open.
func (s *Session) openBroker(g gateway) error {
	for _, ready := range s.brokered.ready {
		ready(g)
	}
	all := s.brokered.sites
	if s.mcp.own || len(s.mcp.started) > 0 {
		all = append(slices.Clip(all), func(g gateway, _ *broker.Broker) (broker.Site, error) {
			return broker.Site{Prefix: "/mcp", Handler: s.mcp.handler(s, g)}, nil
		})
	}
	var sites []broker.Site
	for _, make := range all {
		site, err := make(g, s.broker)
		if err != nil {
			return err
		}
		site.Handler = broker.Search(g.Decoys(), func(host, decoy, form string) bool {
			if site.Model {
				g.Mentioned(host, decoy, form)
			} else {
				g.Caught(host, decoy, form)
			}
			return !site.Model
		}, site.Handler)
		sites = append(sites, site)
	}
	return s.broker.Start(sites)
}
