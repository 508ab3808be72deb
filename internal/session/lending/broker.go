// Package lending says which credentials a session lends, to which hosts, and from where
// on the host they come. They are read when they are used.
package lending

import (
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Connect says what the broker reaches, and makes it, still closed: its certificate is
// part of the view.
func Connect(b *launch.Base, total launch.Contribution) (made *broker.Broker, out launch.Contribution, err error) {
	if b.Reach.Mode == launch.ModeNone {
		if len(total.Brokered.Sites) > 0 { // what answers from the store of packages
			made, err = broker.New(b.ID, nil, policy.Commons{})
		}
		return made, out, err
	}
	if err := allowBroker(b, total.Brokered.Hosts, &out); err != nil {
		return nil, out, err
	}
	if made, err = broker.New(b.ID, total.Brokered.Served(), total.Brokered.Commons); err != nil {
		return nil, out, err
	}
	for _, h := range total.Brokered.Hosts {
		if h.Why != "" {
			made.Shut(h.Name, h.Why)
		}
	}
	return made, out, trustHost(*b, &out, made.Certificate(), total.Path)
}

// allowBroker lets the broker reach its hosts: what it serves is allowed by its being
// asked for. The administrator's ceiling and the user's denials stand above that.
func allowBroker(b *launch.Base, hosts []launch.BrokeredHost, out *launch.Contribution) error {
	b.Reach.Allow = slices.Clip(b.Reach.Allow)
	for _, h := range hosts {
		if h.Ruled {
			continue
		}
		text := string(h.Name)
		if h.Port != 443 {
			text = fmt.Sprintf("https://%s:%d", h.Name, h.Port)
		}
		r, err := address.ParseRule(text)
		if err != nil {
			return fmt.Errorf("brokered host %s: %w", h.Name, err)
		}
		e := policy.Entry{Rule: r, Text: text, Source: policy.Source{File: launch.BrokerSource}}
		if err := b.Bound(e); err != nil {
			out.Notice(fmt.Sprintf("the broker does not reach %s: %v", h.Name, err))
			continue
		}
		b.Reach.Allow = append(b.Reach.Allow, e)
	}
	return nil
}
