package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/lending"
)

// errNowhere answers for a world that is not there.
var errNowhere = errors.New("this gate leads nowhere")

// noNetwork is the error for a proof of the network where policy gives none.
func noNetwork(s *session.Session) error {
	if s.Reach.Mode != launch.ModeNone {
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
func lead(s *session.Session, to *verify.Gate) error {
	world := &canaries{to}
	s.Upstream, s.Resolver, s.Dial, s.Broker, s.Lure = nil, world, world.dial, nil, nil
	if to != nil {
		var err error
		if s.Broker, err = lending.Bare(s.ID, address.Name(to.Brokered)); err != nil {
			return err
		}
		if s.Lure, err = launch.OneDecoy("verify", to.Decoy); err != nil {
			return err
		}
		s.Brokered, s.Offered = launch.Brokered{}, launch.Offered{}
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
