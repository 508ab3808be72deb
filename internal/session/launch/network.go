package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/network/upstream"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/netns"
)

// ModeNone is the posture without a network.
const ModeNone = "none"

// network decides what of the network is there.
func (b *Base) network() (err error) {
	if b.Reach, err = b.Policy.Reach(b.ownHosts()); err != nil {
		return err
	}
	for _, h := range b.Profile.Network.Needless {
		r, err := address.ParseRule(h)
		if err != nil {
			return fmt.Errorf("the agent's host %w", err)
		}
		b.Reach.Needless = append(b.Reach.Needless, policy.Entry{Rule: r, Text: h, Group: policy.OwnGroup, Source: policy.Source{File: "agent"}})
	}
	b.learnHosts()
	return nil
}

// ownHosts are those of the agent. A profile that is the user's own is under the
// ceiling as every other word of the user's.
func (b *Base) ownHosts() []string {
	if b.Profile.Source == agent.BuiltIn {
		return b.Profile.Network.Hosts
	}
	return slices.DeleteFunc(slices.Clone(b.Profile.Network.Hosts), func(h string) bool {
		over := b.Bound(policy.Entry{Text: h}) != nil
		if over {
			b.Said.Notice("a host of the agent's profile is not allowed by " + Ceiling + ": " + h)
		}
		return over
	})
}

// Network says how the network ends at the gate, and by which way that reaches
// the world.
func Network(b Base) (out Contribution, err error) {
	if b.Reach.Mode == ModeNone {
		return out, nil
	}
	if err := out.proxy(b); err != nil {
		return out, err
	}
	for _, p := range policy.Cautions(b.Policy) {
		out.Notice(p.Source.String() + ": " + p.Text)
	}
	out.Capture, err = netns.Make(b.Reach.HostPorts)
	return out, err
}

// proxy finds the upstream proxy that policy names. One that only stands in the
// environment is not used: where traffic goes is for policy to say.
func (c *Contribution) proxy(b Base) (err error) {
	env := func(name string) string { return cmp.Or(b.Getenv(name), b.Getenv(strings.ToLower(name))) }
	ambient := cmp.Or(env("HTTPS_PROXY"), env("ALL_PROXY"))
	switch b.Reach.Proxy {
	case policy.ProxyNone:
		if ambient != "" {
			c.Notice("HTTPS_PROXY is set and not used; --proxy env goes through it")
		}
		return nil
	case policy.ProxyEnv:
		if ambient == "" {
			return fault.New(fault.Refused, "set HTTPS_PROXY, or leave the proxy out", "policy wants the proxy of the environment, and HTTPS_PROXY is not set")
		}
		if c.Upstream, err = upstream.Parse(ambient, env("NO_PROXY")); err != nil {
			return fault.New(fault.Refused, "", "HTTPS_PROXY: %w", err)
		}
		for _, entry := range c.Upstream.Unread() {
			c.Notice(fmt.Sprintf("NO_PROXY: %q is neither a host, an address nor a range; what it means goes through the proxy", entry))
		}
		c.Upstream.Trust(b.Trust.Pool)
		return nil
	}
	if c.Upstream, err = upstream.Parse(b.Reach.Proxy, ""); err != nil { // NO_PROXY belongs to the environment's
		return err
	}
	c.Upstream.Trust(b.Trust.Pool)
	return nil
}

// learnHosts lets unknown public hosts be reached where that is the mode's only no.
// What somebody locked stays locked, and nobody goes above the ceiling.
func (b *Base) learnHosts() {
	over := b.ceiling != nil && b.ceiling.Network.Mode != nil && !policy.Wide(b.ceiling.Network.Mode.Value)
	b.Reach.Learn = b.Asked.Learn && b.Reach.Mode == "dev" && !over
}

func ModeOf(p *policy.Policy) string { return p.Network.Mode.Text() }

// Locked is the posture in which only the agent's own API is there.
const Locked = "locked"

// Narrowed is the base of a session that was moved to a stricter mode of the network, as one
// that had been started in it: but that what the broker serves stays as it was begun, and that
// common hosts are closed where it does not stand before them.
func (b Base) Narrowed(mode string, of Brokered) (Base, error) {
	before := b.Reach
	b.Policy = b.Policy.In(mode)
	b.Asked.Learn = false
	if err := b.network(); err != nil || mode == ModeNone {
		return b, err
	}
	for _, e := range before.Allow {
		if e.Source.File == BrokerSource && (mode != Locked || of.model(e.Rule.Name)) {
			b.Reach.Allow = append(b.Reach.Allow, e)
		}
	}
	commons, err := b.Policy.Commons()
	if err != nil || len(of.Commons.List) > 0 {
		return b, err
	}
	for _, c := range commons.List {
		if !of.has(c.Rule.Name) {
			b.Reach.Deny = append(b.Reach.Deny, policy.Entry{Rule: c.Rule, Text: c.Rule.String(), Source: b.Policy.Network.Mode.Source})
		}
	}
	return b, nil
}

// BrokerSource is the source of rules that being the broker's opens.
const BrokerSource = "broker"
