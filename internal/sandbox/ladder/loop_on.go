//go:build ringfence_loop

package ladder

import (
	"context"

	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// usual puts the test build's far end in the place of the native rung, under its name: what
// the suites do, they do over a link.
func usual(rung.Rung) rung.Rung { return far.Rung{Place: loop{}} }

// loop is a place on this machine: the far end is a child of the supervisor.
type loop struct{ native.Rung }

func (l loop) Offer() rung.Offer {
	o := l.Rung.Offer()
	o.Views, o.Witness = []plan.View{plan.Review}, "the far end"
	return o
}

func (l loop) Try(ctx context.Context) []hostfacts.Result { return l.Rung.Try(ctx) }

func (loop) Shared() bool { return true }

func (loop) Open(_ context.Context, group int) (far.End, error) { return far.Child(group) }
