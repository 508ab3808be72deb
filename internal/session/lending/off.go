package lending

import (
	"fmt"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
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
func secrets(l launch.Law) (out []usable) {
	now, bare := l.Policy.SecretsOn(), l.Bare.SecretsOn()
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
func servesHosts(b launch.Base, p *policy.Policy) bool {
	m := p.Network.Mode
	return m == nil || m.Value != launch.ModeNone && (m.Value != launch.Locked || b.Asked.Server != "")
}

// shutOff closes the hosts of secrets that the user's own words switch off, where
// nobody else has the host.
func (sv *services) shutOff() error {
	for i := range sv.Policy.Secret {
		s := &sv.Policy.Secret[i]
		if !s.IsOff() || sv.NoNetwork() {
			continue
		}
		for _, h := range s.Hosts {
			to, err := policy.ParseHome(h.Value)
			if err != nil {
				return err
			}
			sv.Brokered.Closed = append(sv.Brokered.Closed, launch.ShutHost(to.Host.Name, fmt.Sprintf("the secret %s for this host is switched off (%s)", s.Name, s.Off.Source.String())))
		}
	}
	return nil
}
