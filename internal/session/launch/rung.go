package launch

import (
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/ladder"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Ladder are the rungs of the user's own policy; where that cannot be read, the built-in
// one: who asks what this host has need not have it right.
func Ladder(environ []string) []rung.Rung {
	p := policy.Builtin()
	if who, err := Who(Options{Environ: environ}); err == nil {
		if own, err := who.OwnPolicy(&policy.Policy{}); err == nil {
			p = own
		}
	}
	return ladder.Rungs(p)
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
