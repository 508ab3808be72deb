package launch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/ladder"
	"ringfence.dev/ringfence/internal/sandbox/plan"
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

// On is the rung that flags name, or else the user's own policy.
func On(environ []string, flags *policy.Policy) (rung.Rung, error) {
	p := policy.Builtin()
	if who, err := Who(Options{Environ: environ}); err == nil {
		if own, err := who.OwnPolicy(&policy.Policy{}); err == nil {
			p = own
		}
	}
	return ladder.Chosen(policy.Merge(p, flags))
}

// Stands finds out whether the rung of the user's own policy can be had here, and says what
// would help.
func Stands(ctx context.Context, environ []string) error {
	r, err := On(environ, nil)
	if err != nil {
		return err
	}
	for _, found := range r.Try(ctx) {
		if found.Status != hostfacts.OK && found.Status != hostfacts.Degraded {
			return fault.New(fault.Refused, found.Fix, "no session can start on this machine: %s: %s", found.Name, found.Detail)
		}
	}
	return nil
}

// viewed refuses a view that somebody asked for by a flag and that the rung has not: what is
// said to be live must not wait for review.
func (b *Base) viewed() error {
	f := b.Asked.Flags
	if f == nil || f.Workspace.View == nil || slices.Contains(b.Rung.Offer().Views, plan.View(f.Workspace.View.Value)) {
		return nil
	}
	return fault.New(fault.Refused, "leave that out, or use --rung native", "the view %s is not to be had on the rung %s: changes wait for review there", f.Workspace.View.Value, b.Rung.Name())
}

// climb takes the highest rung that can be had, where a posture wants it and no flag names
// one. Where there is none above, what [require] demands decides, and nothing is taken away.
func (b *Base) climb() {
	chosen := b.Asked.Flags != nil && b.Asked.Flags.Rung.Use != nil
	if !b.Policy.WantsHighest(chosen) {
		return
	}
	all := ladder.Rungs(b.Policy)
	for _, r := range slices.Backward(all) {
		higher := r.Offer().Level > all[0].Offer().Level
		if r.Name() == b.Policy.Rung.Use.Text() && higher {
			return
		}
		// To send a project to another machine, or to lose conversations, is for a person to say.
		if r.Offer().Forgets {
			continue
		}
		if higher && b.Policy.Rung.Image == nil && b.Policy.AcceptsRung(r.Name()) && hostfacts.Verdict(r.Try(context.Background())) == 0 {
			b.Policy.Rung.Use = &policy.Rule{Value: r.Name(), Source: policy.Source{File: "posture " + b.Policy.Task()}}
			return
		}
	}
	b.Said.Warn(fmt.Sprintf("%s wants a kernel of its own, and no rung above %s can be had here: ringfence rungs says why", b.Policy.Task(), b.Policy.Rung.Use.Text()))
}

// highEnough refuses a rung that somebody has a say in and does not accept.
func (b Base) highEnough() error {
	want, name := b.Policy.Require.Rung, b.Rung.Name()
	switch {
	case b.Policy.AcceptsRung(name):
		return nil
	case len(want) == 0:
		return fault.New(fault.Refused, "change [require] rung in one of the files that write it", "no rung is left that everybody accepts")
	case b.Policy.Emulates(name):
		return fault.New(fault.Refused, "use a machine with KVM, without accel = \"tcg\"; or --rung gvisor, where that is enough",
			"the rung %s is not enough where software makes its processor, as %s says: %s demands %s", name, b.Policy.Rung.Accel.Source.String(), want[0].Source.String(), strings.Join(want.Values(), " or "))
	}
	return fault.New(fault.Refused, "--rung "+want[0].Value, "the rung %s is not enough: %s demands %s", name, want[0].Source.String(), strings.Join(want.Values(), " or "))
}
