package container

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// confinedOffer is that of a container under the engine's own profile: no namespace can be
// made in it, so those of the engine are the walls.
func confinedOffer() rung.Offer {
	o := native.Rung{}.Offer()
	o.Less = "confined"
	o.Adds = "a container that keeps the engine's own seccomp profile and covers of /proc, and limits by the engine"
	o.Lacks = "a boundary of its own, a user namespace, the live view, nosuid, a list of what was written outside the workspace"
	o.Views = []plan.View{plan.Review}
	o.Limits = cgroup.Engine
	for _, w := range []plan.Wall{plan.WallMount, plan.WallPID, plan.WallIPC, plan.WallUTS, plan.WallNet, plan.WallCgroup, plan.WallCaps} {
		o.Walls[w] = rung.Place
	}
	o.Why = map[plan.Wall]string{
		plan.WallUser:    "the engine's profile lets nobody make one; the agent is your user on the host, without a capability, in the engine's namespaces",
		plan.WallNested:  "the kernel's count is the host's; both filters refuse the calls that make a user namespace",
		plan.WallKeyring: "the engine starts a container with a keyring of its own, which nobody outside can see; both filters refuse the calls",
	}
	for w := range o.Why {
		o.Walls[w] = rung.Nobody
	}
	o.Weaker = map[string]string{"keyring": "nobody outside sees which keyring the engine gave; the filters refuse the calls"}
	return o
}

// startConfined starts a sandbox in a container that keeps the engine's own profile. Who
// is in it may not mount and may not change a network: the engine builds the view, and the
// network is raised by a holder that is gone before the agent runs.
func (r Rung) startConfined(ctx context.Context, e *engine, a about, p *plan.Plan, h rung.Hooks) (rung.Sandbox, error) {
	if err := r.confinable(p); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(h.Dir, "view-")
	if err != nil {
		return nil, err
	}
	tidy := func() { os.RemoveAll(dir) }
	box, err := r.confined(ctx, e, a, p, h, dir)
	if err != nil {
		tidy()
		return nil, err
	}
	return kept{box, tidy}, nil
}

func errConfinedImage() error {
	return fault.New(fault.Refused, "leave the image out, or [rung] container = \"usual\"", "in a confined container an image cannot be shown in part")
}

// confinable refuses what cannot be had so.
func (r Rung) confinable(p *plan.Plan) error {
	switch {
	case len(p.Watch) > 0 || len(p.Trees) > 0:
		return fault.New(fault.Refused, "use --review, or another rung", "in a confined container nobody hears of what the agent calls: there is no live view and no learning")
	case r.Image != "":
		return errConfinedImage()
	case !slices.Contains(p.Walls, plan.WallLandlock):
		return fault.New(fault.Refused, "use another rung", "a confined container needs Landlock, which this kernel has not")
	case slices.ContainsFunc(p.Ops, func(o plan.Op) bool { return o.Do == plan.DoLayer }):
		// The supervisor then shows a copy.
		return &rung.Failure{Step: rung.StepLayer, Text: "in a confined container nobody may mount"}
	}
	return nil
}

func (r Rung) confined(ctx context.Context, e *engine, a about, p *plan.Plan, h rung.Hooks, dir string) (rung.Sandbox, error) {
	built, err := viewOf(p, dir)
	if err != nil {
		return nil, fault.New(fault.Refused, "use --rung native", "%w", err)
	}
	tag, content, err := built.root()
	if err != nil {
		return nil, err
	}
	image := "ringfence-view:" + tag
	if err := e.makeImage(ctx, image, content); err != nil {
		return nil, fmt.Errorf("image of a container: %w", err)
	}
	v, net, err := launchJoined(ctx, e, a, p, h.Dir, confinedOrder(a, image, p, h.Limits, built))
	if err != nil {
		return nil, err
	}
	defer closeSockets(net.sockets)
	if err := built.asOrdered(v.pid); err != nil {
		v.end()
		return nil, err
	}
	judge := h.Witness
	h.Witness = func(seen rung.Seen) error {
		if err := net.wait(ctx); err != nil || judge == nil {
			return err
		}
		return judge(seen)
	}
	h.Within, h.Join = nil, nil
	inner, err := native.StartBorn(ctx, insidePlan(p, built), h, func(_ *plan.Plan, control *os.File) (*native.First, error) {
		first, err := v.become(h.Stdio, control)
		if first != nil {
			first.Net = net.sockets
		}
		return first, err
	})
	if err != nil {
		v.end()
		return nil, err
	}
	return box{inner, v}, nil
}

// joined is the network of a container.
type joined struct {
	sockets []netns.Socket
	alone   chan struct{} // closed when nothing of its holder is left
}

// wait returns when nobody with a right to change the network is in it.
func (j joined) wait(ctx context.Context) error {
	select {
	case <-j.alone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// launchJoined makes the container, in the network of a holder if the plan has one. The
// container keeps that network, so the holder is ended.
func launchJoined(ctx context.Context, e *engine, a about, p *plan.Plan, dir string, o order) (*vessel, joined, error) {
	j := joined{alone: make(chan struct{})}
	if p.Capture == nil {
		close(j.alone)
		v, err := launch(ctx, e, o, dir)
		return v, j, err
	}
	holder, sockets, err := hold(ctx, e, a, p, dir)
	if err != nil {
		return nil, j, err
	}
	j.sockets = sockets
	o.join(holder.name)
	v, err := launch(ctx, e, o, dir)
	if err != nil {
		closeSockets(sockets)
		holder.end()
		return nil, j, err
	}
	go func() {
		holder.end()
		await(holder.first)
		close(j.alone)
	}()
	return v, j, nil
}

// insidePlan is what is left for the first process inside.
func insidePlan(p *plan.Plan, v *view) *plan.Plan {
	c := *p
	c.Ops, c.Built, c.Capture = v.ops, true, nil
	c.Limits.Pids = 0 // without a user namespace they would be counted with your other processes; the engine counts its own
	ours := confinedOffer().Walls
	c.Walls = slices.DeleteFunc(slices.Clone(p.Walls), func(w plan.Wall) bool { return ours[w] != rung.Ours })
	return &c
}

// hold has the network of a plan raised in a container of its own, and returns its sockets.
// Its first process is ours, is root with the right to change its own network, and sees
// nothing but our program and our socket. No agent ever runs beside it.
func hold(ctx context.Context, e *engine, a about, p *plan.Plan, dir string) (*vessel, []netns.Socket, error) {
	if err := e.makeImage(ctx, nothing, nil); err != nil {
		return nil, nil, fmt.Errorf("image of a container: %w", err)
	}
	v, err := launch(ctx, e, holderOrder(a, p), dir)
	if err != nil {
		return nil, nil, err
	}
	ports, err := v.raise(ctx, p)
	if err != nil {
		v.end()
		return nil, nil, err
	}
	return v, ports, nil
}

// raise asks the holder for the network.
func (v *vessel) raise(ctx context.Context, p *plan.Plan) ([]netns.Socket, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	defer context.AfterFunc(ctx, v.conn.Shutdown)()
	net := &plan.Plan{Version: plan.Version, Capture: p.Capture, Process: plan.Process{Argv: []plan.Raw{"none"}}}
	head, contents, err := plan.Encode(net)
	if err == nil {
		err = v.conn.Send(wire.Message{Kind: wire.Hold})
	}
	if err == nil {
		err = v.conn.SendPlan(head, contents...)
	}
	if err != nil {
		return nil, err
	}
	m, fds, err := v.conn.Receive()
	var out []netns.Socket
	for i, fd := range fds {
		if i < len(m.Ports) {
			out = append(out, netns.Socket{Name: m.Ports[i], File: os.NewFile(uintptr(fd), m.Ports[i])})
		} else {
			unix.Close(fd)
		}
	}
	switch {
	case err != nil:
		err = fmt.Errorf("the holder: %w", err)
	case m.Kind == wire.Failed && m.Failure != nil:
		err = &rung.Failure{Step: m.Failure.Step, Errno: syscall.Errno(m.Failure.Errno), Text: "in the holder: " + m.Failure.Text}
	case m.Kind != wire.Hold || len(m.Ports) != len(fds) || len(fds) == 0:
		err = fmt.Errorf("the holder said %q with %d descriptors", m.Kind, len(fds))
	}
	if err != nil {
		closeSockets(out)
	}
	return out, err
}

func closeSockets(list []netns.Socket) {
	for _, s := range list {
		s.File.Close() // who took it has a copy
	}
}

// become makes the container's first process that of the sandbox. What can be seen of it is
// looked at before: afterwards it shows itself to nobody.
func (v *vessel) become(stdio rung.Stdio, control *os.File) (*native.First, error) {
	seen, err := native.Look(v.pid)
	if err != nil {
		return nil, err
	}
	ours, err := probe.InodeOf("/")
	if err != nil {
		return nil, err
	}
	root, err := probe.InodeOf(fmt.Sprintf("/proc/%d/root/", v.pid))
	if err != nil || root == ours {
		return nil, errors.Join(err, errors.New("the container has the root of the host"))
	}
	seen["root"] = probe.ImageRoot
	at, err := os.OpenFile(fmt.Sprintf("/proc/%d/root", v.pid), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	first := &native.First{PID: v.pid, Root: at, Look: func() (map[string]string, error) {
		now, err := native.Status(v.pid)
		out := maps.Clone(seen)
		maps.Copy(out, now)
		return out, err
	}}
	first.Kill = func() {
		v.cut()
		go v.end()
	}
	groups := cgroup.GroupsOf(v.pid)
	first.Leave = func() { // with it the container goes, and what its limits did
		v.whole, v.hit = true, groups.Events()
		v.cut()
	}
	first.Wait = func() syscall.WaitStatus {
		await(v.first)
		if !v.whole { // perhaps a limit ended it: the engine takes a moment to remove its groups
			v.hit = groups.Events()
		}
		v.over()
		at.Close()
		return v.status
	}
	err = v.conn.Send(wire.Message{Kind: wire.Become}, int(stdio.In.Fd()), int(stdio.Out.Fd()), int(stdio.Err.Fd()), int(control.Fd()))
	return first, err
}

// kept is a sandbox with files that it needs until its end.
type kept struct {
	rung.Sandbox
	tidy func()
}

// Wait implements rung.Sandbox.
func (k kept) Wait() (rung.Exit, error) {
	defer k.tidy()
	return k.Sandbox.Wait()
}

// Close implements rung.Sandbox.
func (k kept) Close() error {
	defer k.tidy()
	return k.Sandbox.Close()
}
