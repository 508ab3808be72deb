package session

import (
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
)

// brokered is what the broker of a session serves.
type brokered struct {
	sites []func(*gate.Gate) (broker.Site, error) // made once there is a gate
	ready []func(*gate.Gate)                      // called then
	hosts []brokeredHost

	commons policy.Commons
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

// brokerReach lets the broker reach its hosts: what it serves is allowed by its being
// asked for. The administrator's ceiling and the user's denials stand above that.
func (d *draft) brokerReach() error {
	for _, h := range d.secretHomes { // before the broker's own way there is among the rules
		h.read = slices.ContainsFunc(d.Reach.Allow, func(e policy.Entry) bool {
			proto, on := e.Rule.On(443)
			return on && proto == address.TLS && e.Rule.Whole() && e.Rule.Covers(h.name)
		})
	}
	for _, h := range d.brokered.hosts {
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
		if err := d.bound(e); err != nil {
			d.notice(fmt.Sprintf("the broker does not reach %s: %v", h.name, err))
			continue
		}
		d.Reach.Allow = append(d.Reach.Allow, e)
	}
	return nil
}

// makeBroker makes the broker, still closed: its certificate is part of the view.
func (d *draft) makeBroker() error {
	if d.Reach.Mode == modeNone {
		return nil
	}
	var hosts []address.Name
	seen := map[address.Name]bool{}
	for _, h := range d.brokered.hosts {
		if h.why == "" && !seen[h.name] {
			seen[h.name] = true
			hosts = append(hosts, h.name)
		}
	}
	var err error
	if d.broker, err = broker.New(d.ID, hosts, d.brokered.commons); err != nil {
		return err
	}
	for _, h := range d.brokered.hosts {
		if h.why != "" {
			d.broker.Shut(h.name, h.why)
		}
	}
	if d.broker.Certificate() != nil {
		return d.trustBroker(d.broker.Certificate())
	}
	return nil
}

// openBroker begins to serve, through the gate that is about to open.
func (s *Session) openBroker(g *gate.Gate) error {
	for _, ready := range s.brokered.ready {
		ready(g)
	}
	var sites []broker.Site
	for _, make := range s.brokered.sites {
		site, err := make(g)
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
