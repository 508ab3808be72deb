package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// netTarget tells the battery of the network what to try. control is the name of the
// session's control socket.
func (p *plant) netTarget(tries map[string]attempts, control string) ([]byte, error) {
	t := probe.NetTarget{Canary: probe.Digest([]byte(p.canary)), NS: p.ns["net"], Tries: map[string][]probe.Try{}, Control: control,
		Servers:  []netip.AddrPort{netip.AddrPortFrom(netip.MustParseAddr(loopback), netns.Resolver), netip.AddrPortFrom(public(53), netns.Resolver)},
		Foreign:  []netip.Addr{public(81), public6(81)},
		Datagram: netip.MustParseAddrPort(p.world.udp.LocalAddr().String())}
	for check, a := range tries {
		t.Tries[check] = a.tries
	}
	return json.Marshal(t)
}

// netControl starts the battery in a network namespace that has no walls and leads
// nowhere, and returns what waits for its answer. There it must reach everything that
// it must not reach in a sandbox.
func (c Config) netControl(ctx context.Context, p *plant, tries map[string]attempts) func() (map[string]probe.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	failed := func(err error) func() (map[string]probe.Result, error) {
		return func() (map[string]probe.Result, error) {
			cancel()
			return nil, fmt.Errorf("the network without walls: %w", err)
		}
	}
	target, err := p.netTarget(tries, p.abstractName())
	if err != nil {
		return failed(err)
	}
	cmd := exec.CommandContext(ctx, c.Self, probe.Arg, probe.NetArg, p.canary)
	var out bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdin, cmd.Stdout = []string{}, "/", bytes.NewReader(target), &out
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW, unix.CAP_NET_BIND_SERVICE},
		Pdeathsig:   syscall.SIGKILL,
	}
	if err := cmd.Start(); err != nil {
		return failed(err)
	}
	ended := make(chan error, 1)
	go func() { // at once: its answer is taken after two starts, and one that came in time counts
		ended <- cmd.Wait()
		cancel()
	}()
	return func() (map[string]probe.Result, error) {
		waited := <-ended
		// An answer explains a failure better than the status does.
		results, err := probe.DecodeAnswer(&out, probe.NetNames())
		if err == nil {
			err = waited
		}
		if err != nil {
			return nil, fmt.Errorf("the network without walls: %w", err)
		}
		return results, nil
	}
}

// netInside runs the battery of the network in a sandbox whose gate leads to p.world.
func (c Config) netInside(ctx context.Context, p *plant, tries map[string]attempts) (map[string]probe.Result, Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, c.within(1))
	defer cancel()
	g := &Gate{Allow: []string{"*." + string(p.zone()), fmt.Sprintf("tcp://*.%s:%d", p.zone(), anyPort)}, Lookup: p.world.lookup, Dial: p.world.dial,
		Brokered: p.zone().brokeredName(), Decoy: p.decoy}
	g.Ready = func(control string, shut func()) ([]byte, error) {
		p.world.ready(control, shut)
		return p.netTarget(tries, control)
	}
	seen, err := c.Launch(ctx, Job{Argv: []string{c.Self, probe.Arg, probe.NetArg}, Self: c.Self, Env: p.environ,
		Workspace: p.workspace, Scratch: p.state, Gate: g})
	var none *NoNetwork
	if err != nil && !errors.As(err, &none) {
		return nil, Seen{}, err
	}
	results, bad := probe.DecodeAnswer(bytes.NewReader(seen.Stdout), probe.NetNames())
	if bad != nil {
		err = bad
	}
	return results, seen, err
}
