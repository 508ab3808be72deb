package ladder

import (
	"slices"
	"testing"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/verify"
)

// Policy and the table have the same rungs in the same order, and each says of every wall
// who raises it and of every wall that nobody raises why.
func TestTableOfRungs(t *testing.T) {
	var names []string
	for _, r := range Rungs(&policy.Policy{}) {
		names = append(names, r.Name())
		o := r.Offer()
		for _, w := range plan.AllWalls() {
			if who := o.Walls[w]; who == "" || (who == rung.Nobody) != (o.Why[w] != "") {
				t.Errorf("%s: wall %s is raised by %q, why not: %q", r.Name(), w, who, o.Why[w])
			}
		}
		for name, why := range o.Leaves {
			if !slices.ContainsFunc(verify.Checks(), func(c verify.Check) bool { return c.Name == name && c.Some }) || why == "" {
				t.Errorf("%s leaves %q, which is no rung's to leave, because of %q", r.Name(), name, why)
			}
		}
		if len(o.Walls) != len(plan.AllWalls()) || len(o.Views) == 0 || o.Witness == "" || o.Level == "" || o.Kernel == "" || o.Adds == "" {
			t.Errorf("%s offers %+v", r.Name(), o)
		}
	}
	if !slices.Equal(names, policy.RungNames()) {
		t.Errorf("the table has %q, policy %q", names, policy.RungNames())
	}
}
