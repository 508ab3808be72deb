package launch

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/microvm"
	"ringfence.dev/ringfence/internal/sandbox/native"
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
