package launch

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/leakscan"
	"ringfence.dev/ringfence/internal/policy"
)

// Brokered is what the broker of a session serves.
type Brokered struct {
	Sites  []SiteFunc      // made once there is a gate
	Ready  []func(Gateway) // called then
	Done   []func() error  // called when the gate is shut
	Hosts  []BrokeredHost
	Closed []BrokeredHost // shut where nobody else has the host
	Forged []string       // hosts to which the broker speaks git
	Soft   []SoftHost     // served where nobody else has the host

	Commons policy.Commons
}

// SiteFunc makes a site of the broker's, for a session that begins.
type SiteFunc func(Gateway, *broker.Broker) (broker.Site, error)

// Gateway is what the broker needs of the gate.
type Gateway interface {
	Reach(context.Context, address.Target) (net.Conn, error)
	ByProxy(context.Context, address.Target) (c net.Conn, asked bool, err error)
	Roots() *x509.CertPool // whose certificates are believed out there; nil: whose the system believes
	Record(journal.Record) error
	Direct(c net.Conn, t address.Target, locked bool) (net.Conn, error)
	Mode() string // of the network, as it is now
	Denies(address.Target) bool
	DeniesAddress(netip.Addr, uint16) bool
	Decoys() *leakscan.Set
	Caught(host, decoy, form string)
	Mentioned(host, decoy, form string)
	Suspect(host string, r injection.Report)
}

func (b *Brokered) add(o Brokered) {
	b.Sites, b.Ready, b.Done = append(b.Sites, o.Sites...), append(b.Ready, o.Ready...), append(b.Done, o.Done...)
	b.Hosts, b.Closed = append(b.Hosts, o.Hosts...), append(b.Closed, o.Closed...)
	b.Forged, b.Soft = append(b.Forged, o.Forged...), append(b.Soft, o.Soft...)
	if len(o.Commons.List) > 0 {
		b.Commons = o.Commons
	}
}

// SoftHost is a host for which TLS ends at the broker, unless another part has it.
type SoftHost struct {
	Name  address.Name
	Port  string
	Ruled bool // being the broker's opens nothing
	Site  SiteFunc
}

// close settles who has a host, once all is known, and shuts what nobody has.
func (b *Brokered) close() {
	for _, s := range b.Soft {
		if b.has(s.Name) || b.OwnAt(s.Name, s.Port) != nil {
			continue
		}
		b.Hosts[len(b.Hosts)-1].Ruled = s.Ruled
		b.Sites = append(b.Sites, s.Site)
	}
	b.Soft = nil
	for _, h := range b.Closed {
		if !b.has(h.Name) {
			b.Hosts = append(b.Hosts, h)
		}
	}
	b.Closed = nil
}

// BrokeredHost is a host that is the broker's, and that only the broker reaches.
type BrokeredHost struct {
	Name address.Name
	Port uint16
	Why  string // not "": TLS to it is refused, for this reason
	// ruled is set where being the broker's opens nothing: the rules must allow it.
	Ruled bool
	// Model is set for the hosts of the agent's own model, and those that renew its login:
	// they stay where everything else is closed.
	Model bool
	// claimed is set for a host whose secret is switched off: it is as taken as before.
	Claimed bool
}

// has holds for a host that is the broker's.
func (b *Brokered) has(n address.Name) bool {
	return slices.ContainsFunc(b.Hosts, func(h BrokeredHost) bool { return h.Name == n })
}

// Serves holds for a host for which TLS ends at the broker.
func (b *Brokered) Serves(n address.Name) bool {
	return slices.ContainsFunc(b.Hosts, func(h BrokeredHost) bool { return h.Name == n && h.Why == "" })
}

// Claim refuses a host that another secret has.
func (b *Brokered) Claim(n address.Name) error {
	for _, other := range b.Hosts {
		if other.Name == n && (other.Why == "" || other.Claimed) {
			return fmt.Errorf("%s is the host of another secret too", n)
		}
	}
	return nil
}

// OwnModel is Own for a host of the agent's own model.
func (b *Brokered) OwnModel(n address.Name, why string) {
	b.Own(n, why)
	b.Hosts[len(b.Hosts)-1].Model = true
}

// model holds for such a host.
func (b *Brokered) model(n address.Name) bool {
	return slices.ContainsFunc(b.Hosts, func(h BrokeredHost) bool { return h.Name == n && h.Model })
}

// Own makes a host the broker's.
func (b *Brokered) Own(n address.Name, why string) {
	b.Hosts = append(b.Hosts, BrokeredHost{Name: n, Port: 443, Why: why})
}

// OwnAt makes a host the broker's, for which TLS ends there.
func (b *Brokered) OwnAt(n address.Name, port string) error {
	h := BrokeredHost{Name: n, Port: 443}
	if port != "" {
		var err error
		if h.Port, err = address.ParsePort(port); err != nil {
			return err
		}
	}
	if err := b.Claim(n); err != nil {
		return err
	}
	b.Hosts = append(b.Hosts, h)
	return nil
}

// Served are the hosts for which TLS ends at the broker, each once.
func (b *Brokered) Served() (out []address.Name) {
	for _, h := range b.Hosts {
		if h.Why == "" && !slices.Contains(out, h.Name) {
			out = append(out, h.Name)
		}
	}
	return out
}

// Shut makes a host the broker's that nobody serves. It opens no way to it. Where it is
// claimed, another secret for the host stands in its way as it did before.
func (b *Brokered) Shut(n address.Name, why string) {
	b.Hosts = append(b.Hosts, ShutHost(n, why))
}

func ShutHost(n address.Name, why string) BrokeredHost {
	return BrokeredHost{Name: n, Port: 443, Why: why, Ruled: true}
}
