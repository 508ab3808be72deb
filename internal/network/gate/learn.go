package gate

import (
	"cmp"
	"slices"
	"sync"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// learning is what a session to learn from may do that others may not: a public host
// that no rule speaks of is reached, and noted. Everything else of the gate stands:
// rules that deny, internal ranges, the guard before each dial, the journal. Hosts that
// are made to carry things out stay shut, and so does what anybody can have a name on.
type learning struct {
	shut  index // the groups that deny, whatever switched them off
	bound func(policy.Entry) error

	mu    sync.Mutex
	hosts map[address.Target]string // why it was not reached; "" if it was
}

// maxLearned bounds the hosts and ports of one session: who makes up names to send
// something with them gets this far.
const maxLearned = 256

func newLearning(r policy.Reach) *learning {
	if !r.Learn {
		return nil
	}
	l := &learning{hosts: map[address.Target]string{}}
	for _, g := range policy.Groups() {
		if !g.Deny {
			continue
		}
		for _, h := range g.Hosts {
			if rule, err := address.ParseRule(h); err == nil {
				l.shut.add(policy.Entry{Rule: rule, Text: h, Group: g.Name})
			}
		}
	}
	return l
}

// decide allows what nobody judged, if it can be of the public network.
func (l *learning) decide(q Request) (Decision, bool) {
	if l == nil || !l.open(q.Target.Name) {
		return Decision{}, false
	}
	if l.bound != nil && !l.knows(q.Target) {
		rule := address.Rule{Name: q.Target.Name, Port: q.Target.Port}
		if l.bound(policy.Entry{Rule: rule, Text: rule.String(), Source: policy.Source{File: "ringfence learn"}}) != nil {
			return Decision{}, false
		}
	}
	d := Decision{Verdict: Allow, Rule: "unknown public host", Source: "ringfence learn", Proto: address.TCP}
	switch q.Target.Port {
	case 443:
		d.Proto = address.TLS
	case 80:
		d.Proto = address.HTTP
	}
	return d, l.note(q.Target)
}

// under holds what is learnt under the ceiling.
func (l *learning) under(bound func(policy.Entry) error) {
	if l != nil {
		l.bound = bound
	}
}

func (l *learning) knows(t address.Target) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, known := l.hosts[t]
	return known
}

func (l *learning) open(n address.Name) bool {
	if _, special := n.Special(); special || n.Single() || n.Shared() {
		return false
	}
	return !l.shut.each(n, func(policy.Entry) bool { return true })
}

// note remembers a target. A name alone is no connection yet.
func (l *learning) note(t address.Target) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.hosts[t]; known || t.Port == 0 {
		return known || len(l.hosts) < maxLearned
	}
	if len(l.hosts) >= maxLearned {
		return false
	}
	l.hosts[t] = ""
	return true
}

// failed remembers why a target was not reached.
func (l *learning) failed(t address.Target, why string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.hosts[t]; known {
		l.hosts[t] = why
	}
}

// Learned is a host that was reached though no rule speaks of it.
type Learned struct {
	Name    address.Name
	Port    uint16
	Refused string // why it was not reached after all
}

// Learned lists them by name.
func (g *Gate) Learned() []Learned {
	l := g.rules.learn
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []Learned
	for t, why := range l.hosts {
		out = append(out, Learned{t.Name, t.Port, why})
	}
	slices.SortFunc(out, func(a, b Learned) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Port, b.Port)) })
	return out
}
