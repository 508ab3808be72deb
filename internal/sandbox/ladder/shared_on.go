//go:build ringfence_loop && ringfence_shared

package ladder

import (
	"context"
	"io"
	"slices"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// shared is for suites whose scripts speak with the test by files of the workspace: networks
// and terminals are what they are about.
func shared(r far.Rung) rung.Rung { return direct{r} }

// direct writes to the trees of the host itself where a session asks for the live view. It
// holds nothing back, which no rung may do: `verify` says so in checks 63, 65 and 66.
type direct struct{ far.Rung }

// Offer implements rung.Rung.
func (d direct) Offer() rung.Offer {
	o := d.Rung.Offer()
	o.Views = []plan.View{plan.Live, plan.Review}
	return o
}

// Through implements rung.Linked.
func (d direct) Through(between func(io.ReadWriteCloser) io.ReadWriteCloser) rung.Rung {
	return direct{d.Rung.Through(between).(far.Rung)}
}

// Start implements rung.Rung.
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
