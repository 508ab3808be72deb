// Package ssh is the rung of another machine: the native walls there, and a link over the
// user's own ssh. Supervisor, gate, broker, journal and review stay here. What goes there is
// our binary, the plan, and what the plan shows of this machine, without what it masks.
//
// The other machine is taken for hostile. It is asked what it has; what it says has one form
// and bounds, and decides nothing but how the plan for that machine looks.
//
// Left at risk: who owns that machine reads and changes all that the agent may, and uses the
// broker as the agent may, as long as the session lives.
package ssh

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/far"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/parcel"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Rung is the rung of one machine.
type Rung struct{ far.Rung }

// New is the rung of a machine, as ssh calls it; "": nobody named one.
func New(host string) Rung { return Rung{far.Rung{Place: place{host: host, find: findOwn}}} }

// place is the machine.
type place struct {
	host string
	find func(string) (string, error) // finds a program of this machine
}

func (r Rung) place() place { return r.Place.(place) }

// Seeks implements rung.Seeking.
func (r Rung) Seeks(find func(string) (string, error)) rung.Rung {
	return Rung{far.Rung{Place: place{host: r.place().host, find: find}}}
}

// House implements rung.Housed: which machine it is.
func (r Rung) House(context.Context) string { return r.place().host }

// Name implements far.Place.
func (place) Name() string { return "ssh" }

// Offer implements far.Place. The walls are those of the native rung, on the other machine.
func (place) Offer() rung.Offer {
	o := native.Rung{}.Offer()
	o.Level, o.Kernel, o.Witness = "L4", "another machine's", "the far end"
	o.Adds = "another machine: nothing of this one is there but the project, without what is masked"
	o.Lacks = "a witness on this machine, limits on memory, and what an agent keeps in HOME from one session to the next"
	o.Views, o.Limits = []plan.View{plan.Review}, cgroup.Nobody
	o.Leaves = maps.Clone(o.Leaves)
	o.Word, o.Slow, o.Forgets = "another machine", slowly, true
	o.Leaves["kernel"] = "the kernel is that machine's, and nobody here sees which one answers"
	delete(o.Leaves, "link")
	delete(o.Leaves, "link-end")
	return o
}

// Shared implements far.Place.
func (place) Shared() bool { return false }

// Try implements far.Place: it asks the machine to raise each wall in a throw-away child.
func (p place) Try(ctx context.Context) []hostfacts.Result {
	found, err := p.try(ctx)
	machine := rung.Tried(hostfacts.Result{Name: "machine", Status: hostfacts.OK, Detail: "answers, and has this ringfence"}, err)
	return append([]hostfacts.Result{machine}, found...)
}

func (p place) try(ctx context.Context) ([]hostfacts.Result, error) {
	c, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	stop := c.within(ctx, probing)
	defer stop()
	if err := c.send(order{Do: doProbe}); err != nil {
		return nil, c.lost(err)
	}
	a, err := c.hear(maxProbed)
	if err != nil {
		return nil, err
	}
	return probed(a.Probed)
}

// Userland implements rung.Furnished: what the machine has.
func (r Rung) Userland(ctx context.Context, _ string) (*rung.Userland, error) {
	c, err := r.place().dial(ctx)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	h := c.hello
	u := &rung.Userland{Name: r.place().host, Path: h.Path, Machine: &rung.Machine{Arch: h.Arch, Kernel: h.Kernel, Landlock: h.Landlock}}
	for _, n := range h.System {
		u.System = append(u.System, plan.Node{Path: n.Path, Link: n.Link, Real: n.Real})
	}
	return u, nil
}

// How long the machine may take.
const (
	greeting  = time.Minute
	probing   = time.Minute
	unpacking = 15 * time.Minute
	slowly    = time.Minute // of a check more than here: with 200 ms there and back a start alone takes 10 s
)

// Open implements far.Place: it starts the far end there, and sends what the plan shows.
func (p place) Open(ctx context.Context, b far.Begin) (far.End, error) {
	c, err := p.dial(ctx) // first: the machine says how long that takes, and what is listed should be new
	if err != nil {
		return far.End{}, err
	}
	box, err := parcel.Pack(ctx, b.Plan, keyOf(b.Plan), b.Judge)
	if err != nil {
		c.Close()
		return far.End{}, fault.New(fault.Refused, "show less of this machine, or use --rung native", "%w", err)
	}
	box.Dir = b.Dir
	w, there, err := p.settle(ctx, c, b, box)
	if err != nil {
		c.Close()
		return far.End{}, err
	}
	return far.End{ReadWriteCloser: w, Lasts: w, Plan: box.Plan(b.Plan, there.Dir, there.Self)}, nil
}

// settle sends a parcel, and with it the terms on which the session stays there.
func (p place) settle(ctx context.Context, c *conn, b far.Begin, box *parcel.Parcel) (*way, *ready, error) {
	n, seal, err := newNote(p.host, b)
	if err == nil && b.Keep >= 0 {
		err = n.write(b.Dir)
	}
	if err != nil {
		return nil, nil, err
	}
	there, err := c.unload(ctx, order{Do: doStay, Session: n.Session, List: &box.List, Terms: &terms{Secret: n.Secret, Keep: b.Keep, Seal: seal}}, box)
	if err != nil {
		return nil, nil, err
	}
	w := newWay(p, n, b)
	stop := c.within(ctx, greeting)
	defer stop()
	if err := w.Join(c); err != nil {
		return nil, nil, c.lost(err)
	}
	return w, there, nil
}

// keyOf names a project to the other machine, and tells it nothing: what is kept there of one
// project is not looked at for another.
func keyOf(p *plan.Plan) string {
	sum := sha256.New()
	for _, o := range p.Ops {
		if o.Do == plan.DoLayer {
			fmt.Fprintf(sum, "%d %s\n", len(o.Src), o.Src)
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// unload sends a parcel.
func (c *conn) unload(ctx context.Context, o order, box *parcel.Parcel) (*ready, error) {
	stop := c.within(ctx, unpacking)
	defer stop()
	if err := c.send(o); err != nil {
		return nil, c.lost(err)
	}
	a, err := c.hear(maxNeeds)
	if err != nil {
		return nil, err
	}
	if _, err := box.Send(c, a.Needs); err != nil {
		if c.over.Load() {
			return nil, c.lost(err)
		}
		if said := c.said(); said != nil { // the disk is full there, and it said so
			return nil, said
		}
		return nil, fault.New(fault.Failed, "start it again", "%w", err)
	}
	a, err = c.hear(maxReady)
	if err != nil {
		return nil, err
	}
	return a.Ready, a.Ready.check()
}
