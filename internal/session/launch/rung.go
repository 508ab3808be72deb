package launch

import (
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/gvisor"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Rungs is the ladder, from the bottom up. Nothing else of a session knows which rungs
// there are; policy has the same names, and says where their programs are.
func Rungs(p *policy.Policy) []rung.Rung {
	return []rung.Rung{native.Rung{}, gvisor.Rung{Runsc: p.Rung.Runsc.Text(), Sum: p.Rung.RunscSum.Text()}}
}

// Ladder is the ladder of the user's own policy; where that cannot be read, the built-in
// one: who asks what this host has need not have it right.
func Ladder(environ []string) []rung.Rung {
	p := policy.Builtin()
	if who, err := Who(Options{Environ: environ}); err == nil {
		if own, err := who.OwnPolicy(&policy.Policy{}); err == nil {
			p = own
		}
	}
	return Rungs(p)
}

// RungOf is the rung that a policy names. There is no other if it cannot be had.
func RungOf(p *policy.Policy) (rung.Rung, error) {
	name := p.Rung.Use.Text()
	all := Rungs(p)
	i := slices.IndexFunc(all, func(r rung.Rung) bool { return r.Name() == name })
	if i < 0 {
		return nil, fault.New(fault.Refused, "see `ringfence rungs`", "there is no rung %q", name)
	}
	return all[i], nil
}

// UseRung is what the flag --rung says; nothing, if name is empty.
func UseRung(name string) (*policy.Policy, error) {
	p := &policy.Policy{}
	if name == "" {
		return p, nil
	}
	if !slices.Contains(policy.RungNames(), name) {
		return nil, fault.New(fault.Usage, "`ringfence rungs` lists them", "--rung: %q is not one of %s", name, strings.Join(policy.RungNames(), ", "))
	}
	p.Rung.Use = &policy.Rule{Value: name, Source: policy.Source{File: "flag --rung"}}
	return p, nil
}

// highEnough refuses a rung that somebody has a say in and does not accept.
func (b Base) highEnough() error {
	want, name := b.Policy.Require.Rung, b.Rung.Name()
	switch {
	case want.AcceptsRung(name):
		return nil
	case len(want) == 0:
		return fault.New(fault.Refused, "change [require] rung in one of the files that write it", "no rung is left that everybody accepts")
	}
	return fault.New(fault.Refused, "--rung "+want[0].Value, "the rung %s is not enough: %s demands %s", name, want[0].Source.String(), strings.Join(want.Values(), " or "))
}
