package gate

import (
	"net/netip"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// Beforehand decides as the gate of a session would, for who wants to know before
// there is one. Nothing is looked up, nothing dialled.
type Beforehand struct {
	guard  guard
	broker brokerHosts
}

// NewBeforehand takes what a gate would be made of. Who has one closes it.
func NewBeforehand(r policy.Reach, b Broker) *Beforehand {
	return &Beforehand{guard: guard{rules: newRules(r)}, broker: brokerHosts{b}}
}

// Close lets go of what it asked the kernel by.
func (b *Beforehand) Close() { b.guard.own.close() }

// The rules that are no policy's.
const (
	RuleRanges = "internal addresses are closed"
	RuleBroker = "brokered host"
	// RuleNeedless is a profile's: what it is about needs no person.
	RuleNeedless = "needless host"
	// Needless is the reason that goes with it.
	Needless = "the agent looks for it by itself and works without it"
)

// Decide is Decide of the rules, and what the broker and the guard say of a target
// that they let pass. The address of a name is judged only when it is dialled.
func (b *Beforehand) Decide(t address.Target) Decision {
	d := b.guard.rules.Decide(Request{Target: t})
	if d.Verdict != Allow || t.Port == 0 {
		return d
	}
	if b.broker.own(t) {
		if why := b.broker.closes(t, d); why != "" {
			return Decision{Verdict: Deny, Rule: RuleBroker, Reason: why}
		}
	}
	if t.Name == "" && t.Addr != (netip.Addr{}) {
		if err := b.guard.refuses(t.Addr, t.Port); err != nil {
			return Decision{Verdict: Deny, Rule: RuleRanges, Reason: err.Error()}
		}
	}
	return d
}
