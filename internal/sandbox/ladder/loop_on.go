//go:build ringfence_loop

package ladder

import (
	"context"
	"path/filepath"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// usual puts the test build's far end in the place of the native rung, under its name: what
// the suites do, they do over a link.
func usual(rung.Rung) rung.Rung { return direct{far.Rung{Place: loop{}}} }

// direct writes to the trees of the host itself where the suites expect the live view: there
// is no keeper over a link, and it is not what is tested.
type direct struct{ far.Rung }

func (d direct) Start(ctx context.Context, p *plan.Plan, h rung.Hooks) (rung.Sandbox, error) {
	c := *p
	c.Ops = nil
	for _, o := range p.Ops {
		if file.Within(string(o.Dst), plan.Own+"/layer") {
			continue
		}
		o.Write = o.Write || o.Do == plan.DoBind && slices.ContainsFunc(p.Trees, func(t plan.Tree) bool { return t.Path == o.Dst })
		c.Ops = append(c.Ops, o)
	}
	c.Trees, c.Watch = nil, nil
	return d.Rung.Start(ctx, &c, h)
}

// loop is a place on this machine: the far end is a child of the supervisor.
type loop struct{ native.Rung }

func (l loop) Offer() rung.Offer {
	o := l.Rung.Offer()
	o.Witness = "the far end"
	return o
}

func (l loop) Try(ctx context.Context) []hostfacts.Result { return l.Rung.Try(ctx) }

func (loop) Shared() bool { return true }

// Open implements far.Place. The far end keeps its layers where those of the session are,
// and what it leaves goes with them.
func (loop) Open(_ context.Context, b far.Begin) (far.End, error) {
	return far.Child(b.Group, filepath.Join(b.Dir, "layer", "far"))
}
