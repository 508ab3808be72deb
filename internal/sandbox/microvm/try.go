package microvm

import (
	"context"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
)

// tryAccel says what makes the guest's processor.
func (p Place) tryAccel(ctx context.Context, found *parts) hostfacts.Result {
	if p.Accel == tcg {
		return hostfacts.Result{Name: "accel", Status: hostfacts.Degraded, Detail: "software makes the guest's processor, as policy says: everything is many times slower", Fix: "take [rung] accel out of the policy"}
	}
	return hostfacts.Result{Name: "accel", Status: hostfacts.Unusable, Detail: "KVM is not tried yet", Fix: "--accel tcg"}
}
