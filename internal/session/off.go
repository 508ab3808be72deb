package session

import (
	"fmt"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// Switching off closes. A host that is the broker's because of a secret stays the
// broker's when a project's file takes the secret away, by off = true, by [broker]
// secrets or by a tighter mode: nothing else is used in its place, and nobody else is
// let through to the host unjudged.

// usable is a secret that a session uses, or would use without the project's file.
type usable struct {
	*policy.Secret
	off string // not "": why it is not used
}

// secrets lists them.
func secrets(l law) (out []usable) {
	now, bare := l.Policy.SecretsOn(), l.bare.SecretsOn()
	has := func(list []policy.Secret, name string) bool {
		return (&policy.Policy{Secret: list}).FindSecret(name) != nil
	}
	for i := range l.Policy.Secret {
		s := &l.Policy.Secret[i]
		switch {
		case has(now, s.Name):
			out = append(out, usable{Secret: s})
		case has(bare, s.Name):
			out = append(out, usable{s, fmt.Sprintf("%s switches the secret %s off", policy.ProjectFile, s.Name)})
		}
	}
	return out
}

// serves says whether a mode is one in which the hosts of secrets and forges are served.
func servesHosts(b Base, p *policy.Policy) bool {
	m := p.Network.Mode
	return m == nil || m.Value != modeNone && (m.Value != locked || b.asked.Server != "")
}

// locked is the posture in which only the agent's own API is there.
const locked = "locked"

// shut makes a host the broker's that nobody serves. It opens no way to it. Where it is
// claimed, another secret for the host stands in its way as it did before.
func (b *brokered) shut(n address.Name, why string) {
	b.hosts = append(b.hosts, shutHost(n, why))
}

func shutHost(n address.Name, why string) brokeredHost {
	return brokeredHost{name: n, port: 443, why: why, ruled: true}
}

// shutOff closes the hosts of secrets that the user's own words switch off, where
// nobody else has the host.
func (sv *services) shutOff() error {
	for i := range sv.Policy.Secret {
		s := &sv.Policy.Secret[i]
		if !s.IsOff() || sv.modeNone() {
			continue
		}
		for _, h := range s.Hosts {
			to, err := policy.ParseHome(h.Value)
			if err != nil {
				return err
			}
			sv.brokered.closed = append(sv.brokered.closed, shutHost(to.Host.Name, fmt.Sprintf("the secret %s for this host is switched off (%s)", s.Name, s.Off.Source.String())))
		}
	}
	return nil
}
