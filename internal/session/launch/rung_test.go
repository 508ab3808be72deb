package launch

import (
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/ladder"
	"ringfence.dev/ringfence/internal/sandbox/microvm"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// A rung that is not enough refuses the launch and names who demands another; it is never
// taken in silence.
func TestNotEnough(t *testing.T) {
	demands := policy.List{{Value: "gvisor", Source: policy.Source{File: "/project/ringfence.toml", Line: 3}}}
	b := Base{Law: Law{Policy: &policy.Policy{Require: policy.Require{Rung: demands}}, Rung: native.Rung{}}}
	err := b.highEnough()
	if err == nil || !strings.Contains(err.Error(), "/project/ringfence.toml:3 demands gvisor") {
		t.Errorf("it says %v", err)
	}
	b.Rung, b.Policy.Rung.Accel = far.Rung{Place: microvm.Place{Accel: "tcg"}}, &policy.Rule{Value: "tcg", Source: policy.Source{File: "flag --accel"}}
	if err := b.highEnough(); err == nil || !strings.Contains(err.Error(), "software makes its processor, as flag --accel says: /project/ringfence.toml:3 demands gvisor") {
		t.Errorf("it says %v", err)
	}
	b.Rung = native.Rung{}
	b.Policy.Require.Rung = policy.List{}
	if err := b.highEnough(); err == nil || !strings.Contains(err.Error(), "no rung is left") {
		t.Errorf("it says %v", err)
	}
	b.Policy.Require.Rung = nil
	if err := b.highEnough(); err != nil {
		t.Error(err)
	}
}

// TestViewed: a view that a flag asks for is had, or refused; on no rung is it another one.
func TestViewed(t *testing.T) {
	flags := func(view string) *policy.Policy {
		return &policy.Policy{Workspace: policy.Workspace{View: &policy.Rule{Value: view}}}
	}
	refused := 0
	for _, r := range ladder.Rungs(policy.Builtin()) {
		live := slices.Contains(r.Offer().Views, plan.Live)
		for view, had := range map[string]bool{"live": live, "review": true} {
			b := &Base{Law: Law{Policy: &policy.Policy{}, Rung: r}, Person: Person{Asked: Options{Flags: flags(view)}}}
			if err := b.viewed(); (err == nil) != had {
				t.Errorf("%s: %s: %v", r.Name(), view, err)
			}
		}
		if err := (&Base{Law: Law{Policy: flags("live"), Rung: r}}).viewed(); err != nil {
			t.Errorf("%s: what a policy says of views is no demand: %v", r.Name(), err)
		}
		if !live {
			refused++
		}
	}
	if refused == 0 {
		t.Error("every rung is live: nothing was tried")
	}
}
