// Package container is the rung of containers: the native walls stand inside a container
// of an engine on this machine. The engine gives limits and a place without anything of the
// host's in it but what the plan shares; it is no boundary of its own, and whoever may speak
// to it is as good as root.
//
// The kernel is shared, so the first process inside speaks to the supervisor by
// descriptors, as on the native rung. Only its birth is another: the container's first
// process, the stage, comes to a socket in a directory that is bound into the container,
// and starts it. The connection is the life of both.
package container

import (
	"context"
	"fmt"
	"os"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Rung is the rung of containers.
type Rung struct {
	Socket string // of the engine; "": the usual one
	Image  string // whose operating system is there; "": the host's
	// Confined keeps the engine's own profile; see startConfined.
	Confined bool
}

// Name implements rung.Rung.
func (Rung) Name() string { return "container" }

// Offer implements rung.Rung. The walls are those of the native rung.
func (r Rung) Offer() rung.Offer {
	if r.Confined {
		return confinedOffer()
	}
	o := native.Rung{}.Offer()
	o.Adds = "limits by the engine, where the host lends no cgroup; nothing of the host's is near but what is shared"
	o.Lacks = "a boundary of its own: who may speak to the engine is as good as root"
	o.Limits, o.Images = cgroup.Engine, true
	return o
}

// Try implements rung.Rung.
func (r Rung) Try(ctx context.Context) []hostfacts.Result {
	out := hostfacts.Result{Name: "engine", Status: hostfacts.OK}
	e, a, err := r.open(ctx)
	if err == nil && r.Image != "" {
		_, err = e.find(ctx, r.Image)
	}
	if err == nil {
		out.Detail = fmt.Sprintf("%s %s at %s", e.name, a.ServerVersion, e.socket)
		if !a.MemoryLimit || !a.PidsLimit {
			out.Status, out.Detail = hostfacts.Degraded, out.Detail+"; it cannot limit memory and processes"
		}
	}
	return []hostfacts.Result{rung.Tried(out, err)}
}

// House implements rung.Housed: which engine it is.
func (r Rung) House(ctx context.Context) string {
	e, _, err := r.open(ctx)
	if err != nil {
		return "" // the start says why
	}
	return e.name
}

// Start implements rung.Rung.
func (r Rung) Start(ctx context.Context, p *plan.Plan, h rung.Hooks) (rung.Sandbox, error) {
	e, a, err := r.open(ctx)
	if err != nil {
		return nil, err
	}
	if l := h.Limits; l.Memory > 0 && !a.MemoryLimit || l.Pids > 0 && !a.PidsLimit {
		return nil, fault.New(fault.Refused, "use --rung native, which has other ways to limit a session", "the container engine cannot limit memory and processes here")
	}
	if p, err = pinned(p); err != nil {
		return nil, err
	}
	shares, err := sharesOf(p)
	if err != nil {
		return nil, fault.New(fault.Refused, "use --rung native", "%w", err)
	}
	for _, m := range shares {
		if file.Within(e.socket, m.Source) {
			return nil, fault.New(fault.Refused, "keep that directory from the agent, or let the engine listen elsewhere", "the agent would reach the engine's socket, and be as good as root: it lies in %q", m.Source)
		}
	}
	if r.Confined && a.podman() {
		return nil, fault.New(fault.Refused, "use Docker's engine, or leave [rung] container out", "a confined container is tested with Docker's engine alone, and this one is Podman's")
	}
	if r.Confined {
		return r.startConfined(ctx, e, a, p, h)
	}
	image, err := r.image(ctx, e, shares)
	if err != nil {
		return nil, err
	}
	v, err := launch(ctx, e, newOrder(a, image, p.Session, h.Limits, shares), h.Dir)
	if err != nil {
		return nil, err
	}
	h.Within, h.Join = nil, nil // the engine has the limits
	inner, err := native.StartBorn(ctx, p, h, func(p *plan.Plan, control *os.File) (*native.First, error) { return v.bear(ctx, p, h.Stdio, control) })
	if err != nil {
		v.end()
		return nil, err
	}
	return box{inner, v}, nil
}

// image is what the container is made of: the image that policy names, or nothing.
func (r Rung) image(ctx context.Context, e *engine, shares []mount) (string, error) {
	if r.Image != "" {
		i, err := e.find(ctx, r.Image)
		if err == nil {
			err = i.fits(shares)
		}
		return i.ID, err
	}
	if err := e.makeImage(ctx, nothing, nil); err != nil {
		return "", fmt.Errorf("image of a container: %w", err)
	}
	return nothing, nil
}
