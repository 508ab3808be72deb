package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/leakscan"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/verify"
)

// errNowhere answers for a world that is not there.
var errNowhere = errors.New("this gate leads nowhere")

// noNetwork is the error for a proof of the network where policy gives none.
func (s *Session) noNetwork() error {
	if s.Reach.Mode != modeNone {
		return nil
	}
	why := "policy names no mode"
	if m := s.Policy.Network.Mode; m != nil {
		why = fmt.Sprintf("policy says mode %s (%s)", m.Value, m.Source.String())
	}
	return &verify.NoNetwork{Why: why}
}

// lead makes the gate of a session lead to canaries, or nowhere: whatever a proof
// tries, nothing of it leaves this host. Rules, ports and proxy of the user's own
// policy play no part.
func (s *Session) lead(to *verify.Gate) error {
	world := &canaries{to}
	s.upstream, s.resolver, s.dial, s.broker, s.lure = nil, world, world.dial, nil, nil
	if to != nil {
		if err := s.leadBroker(to); err != nil {
			return err
		}
	}
	rules := &policy.Policy{Network: policy.Network{Mode: &policy.Rule{Value: "locked"}}}
	if to != nil {
		for _, r := range to.Allow {
			rules.Network.Allow = append(rules.Network.Allow, policy.Rule{Value: r, Source: policy.Source{File: "verify"}})
		}
	}
	var err error
	s.Reach, err = rules.Reach(nil)
	return err
}

// leadBroker gives the session a broker without a credential, and a decoy.
func (s *Session) leadBroker(to *verify.Gate) error {
	var err error
	if s.broker, err = broker.New(s.ID, nil, policy.Commons{}); err != nil {
		return err
	}
	s.brokered, s.mcp.offered = brokered{}, offered{}
	s.broker.Shut(address.Name(to.Brokered), "it is the broker's")
	set, err := leakscan.New(leakscan.Named{Name: "verify", Secret: to.Decoy})
	s.lure = &lure{needles: set}
	return err
}

// canaries are a gate's way out during a proof.
type canaries struct{ to *verify.Gate }

var _ gate.Resolver = (*canaries)(nil)

// Lookup implements gate.Resolver.
func (c *canaries) Lookup(_ context.Context, n address.Name) ([]netip.Addr, error) {
	if c.to == nil {
		return nil, errNowhere
	}
	return c.to.Lookup(string(n))
}

func (c *canaries) dial(ctx context.Context, to netip.AddrPort) (*net.TCPConn, error) {
	if c.to == nil {
		return nil, errNowhere
	}
	return c.to.Dial(ctx, to)
}

// shut closes the gate, if there is one.
func (d *door) shut() {
	if d != nil {
		d.gate.Close()
	}
}
