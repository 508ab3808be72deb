//go:build ringfence_loop

package ladder

import (
	"context"
	"maps"
	"path/filepath"

	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// usual puts the test build's far end in the place of the native rung, under its name: what
// the suites do, they do over a link.
func usual(rung.Rung) rung.Rung { return shared(far.Rung{Place: loop{}}) }

// loop is a place on this machine: the far end is a child of the supervisor.
type loop struct{ native.Rung }

// Offer is that of a far end: no keeper hears of what the agent calls there.
func (l loop) Offer() rung.Offer {
	o := l.Rung.Offer()
	o.Witness = "the far end"
	o.Views = []plan.View{plan.Review}
	o.Leaves = maps.Clone(o.Leaves)
	delete(o.Leaves, "link")
	delete(o.Leaves, "link-end")
	return o
}

func (l loop) Try(ctx context.Context) []hostfacts.Result { return l.Rung.Try(ctx) }

func (loop) Shared() bool { return true }

// Open implements far.Place. The far end keeps its layers where those of the session are,
// and what it leaves goes with them.
func (loop) Open(_ context.Context, b far.Begin) (far.End, error) {
	end, err := far.Child(b, filepath.Join(b.Dir, "layer", "far"))
	end.Ours = ours
	return end, err
}
