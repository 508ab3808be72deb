// Package gvisor is the rung of gVisor: the agent's kernel is a process of the host, the
// sentry, which stands within the walls of the native rung. Package sentry starts it.
package gvisor

import (
	"context"
	"os"
	"slices"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Rung is the rung of gVisor.
type Rung struct {
	Runsc string // the program; "": the one on PATH
	Sum   string // the SHA-256 that it must have; "": any
	Host  bool   // the sentry uses the host's network stack, in the sandbox's namespace
}

// noInner is measured, and a test notices when it is no longer true: see ADR 68.
const noInner = "bubblewrap makes it in a network namespace of its own, and there fails on gVisor's kernel: RTM_NEWADDR is answered with EEXIST, " +
	"because the loopback of a new namespace has its address already. So the wall nested stands on this rung too"

// Name implements rung.Rung.
func (Rung) Name() string { return "gvisor" }

// Offer implements rung.Rung. The live view needs the host's kernel under the agent.
func (r Rung) Offer() rung.Offer {
	o := rung.Offer{Level: "L3", Kernel: "gVisor's, in user space", Witness: "the host's kernel",
		Adds:  "a kernel of its own: what the agent calls is answered by a process, not by the host's kernel",
		Lacks: "the live view, Landlock for the agent",
		Walls: map[plan.Wall]rung.Who{}, Views: []plan.View{plan.Review},
		Why:    map[plan.Wall]string{plan.WallLandlock: "gVisor has no Landlock; it mounts the view read-only a second time, and Landlock stands around the first process on the host"},
		Weaker: map[string]string{"keyring": "gVisor has no keyrings; the filter refuses the calls"},
		Leaves: map[string]string{"link": rung.NoLink, "link-end": rung.NoLink}, NoInner: noInner}
	for _, w := range plan.AllWalls() {
		o.Walls[w] = rung.Ours
	}
	o.Walls[plan.WallLandlock] = rung.Nobody
	if r.Host {
		o.Less = "with the host's network stack"
		o.Lacks += ", who inside made a connection"
	}
	return o
}

// Try implements rung.Rung.
func (r Rung) Try(ctx context.Context) []hostfacts.Result {
	out := hostfacts.Result{Name: "runsc", Status: hostfacts.OK}
	p, err := find(r.Runsc, os.Getenv("PATH"))
	if err == nil {
		defer p.file.Close()
		var sum string
		if sum, err = p.sum(); err == nil {
			out.Detail, err = p.path+", SHA-256 "+sum, p.pinned(sum, r.Sum)
		}
	}
	return []hostfacts.Result{rung.Tried(out, err), r.tryNetwork(ctx)}
}

// tryNetwork says whose network stack the agent has. The host's is never taken instead.
func (r Rung) tryNetwork(ctx context.Context) hostfacts.Result {
	out := hostfacts.Result{Name: "gvisor-network", Status: hostfacts.OK, Detail: "gVisor's own stack, over a veth pair"}
	if r.Host {
		out.Status, out.Detail = hostfacts.Degraded, "the host's stack, as policy says: an agent can attack it"
		out.Fix = "take [rung] gvisor-network out of the policy"
		return out
	}
	if err := hostfacts.TryVeth(ctx); err != nil {
		return hostfacts.Result{Name: out.Name, Status: hostfacts.Unusable, Detail: "no veth pair can be made: " + err.Error(), Fix: rung.VethHint}
	}
	return out
}

// Start implements rung.Rung: the native walls, and the sentry within.
func (r Rung) Start(ctx context.Context, p *plan.Plan, h rung.Hooks) (rung.Sandbox, error) {
	if len(p.Watch) > 0 || len(p.Trees) > 0 {
		return nil, fault.New(fault.Refused, "use --rung native for this", "on gVisor nobody hears of what the agent calls: there is no live view and no learning")
	}
	if mutated("kernel") {
		return native.Rung{}.Start(ctx, p, h)
	}
	prog, err := find(r.Runsc, os.Getenv("PATH"))
	if err != nil {
		return nil, err
	}
	c := *p
	c.Sentry = &plan.Sentry{Program: plan.Raw(prog.path), Host: r.Host}
	if c.Capture != nil && !r.Host {
		if c.Capture, err = netns.OverVeth(c.Capture); err != nil {
			return nil, err
		}
		mutateCapture(c.Capture)
	}
	if c.Landlock.ABI > 0 && !slices.Contains(c.Walls, plan.WallLandlock) {
		c.Walls = append(slices.Clone(c.Walls), plan.WallLandlock) // around the sentry
	}
	sum := sync.OnceValues(prog.sum)
	if r.Sum != "" {
		is, err := sum()
		if err == nil {
			err = prog.pinned(is, r.Sum)
		}
		if err != nil {
			return nil, err
		}
	}
	if judge := h.Witness; judge != nil {
		h.Witness = func(seen rung.Seen) error {
			seen.Program = &rung.Program{Path: prog.path, ID: prog.id(time.Now()), Sum: sum} // from now on who has it has the file, too
			return judge(seen)
		}
	}
	return native.StartSentry(ctx, &c, h, prog.file)
}
