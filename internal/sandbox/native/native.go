// Package native is the rung of Linux namespaces on the host's own kernel: one
// clone of our own binary into new namespaces, which then confines itself as the
// plan says. It needs no helper program and no privilege.
package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// Rung is the native rung.
type Rung struct{}

// Name implements rung.Rung.
func (Rung) Name() string { return "native" }

// Offer implements rung.Rung.
func (Rung) Offer() rung.Offer {
	o := rung.Offer{Level: "L2", Kernel: "the host's", Adds: "every wall, the live view, and the least to start",
		Walls: map[plan.Wall]rung.Who{}, Views: []plan.View{plan.Live, plan.Review}, Witness: "the host's kernel",
		Leaves: rung.NoMachine(map[string]string{"kernel": "on this rung the host's own kernel answers the agent", "link": rung.NoLink, "link-end": rung.NoLink})}
	for _, w := range plan.AllWalls() {
		o.Walls[w] = rung.Ours
	}
	return o
}

// Try implements rung.Rung: it raises each wall in a throw-away child.
func (Rung) Try(ctx context.Context) []hostfacts.Result {
	_, results := hostfacts.Probe(ctx)
	return results
}

// Start implements rung.Rung. The kernel ties "die with the parent" to the thread that
// forked.
func (Rung) Start(ctx context.Context, p *plan.Plan, h rung.Hooks) (rung.Sandbox, error) {
	return StartBorn(ctx, p, h, forked(h, nil))
}

// StartBorn is Start where somebody else brings the first process into the world.
func StartBorn(ctx context.Context, p *plan.Plan, h rung.Hooks, birth Birth) (rung.Sandbox, error) {
	conn, far, err := wire.Pair()
	if err != nil {
		return nil, err
	}
	first, err := birth(p, far)
	far.Close()
	if first == nil {
		conn.Close()
		return nil, err
	}
	s := &sandbox{pid: first.PID, first: first, conn: conn, hooks: h, ops: writtenOps(p.Ops), exit: make(chan struct{})}
	if err == nil {
		err = s.launch(ctx, p)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	go s.listen()
	if s.around != nil {
		go s.listenAround()
	}
	return s, nil
}

// launch hands the plan over, hears what the walls look like from inside, lets
// the witness look from outside, and says go.
func (s *sandbox) launch(ctx context.Context, p *plan.Plan) error {
	stop := context.AfterFunc(ctx, s.conn.Shutdown)
	defer stop()
	if s.hooks.Join != nil {
		if err := s.hooks.Join(s.pid); err != nil {
			return err
		}
	}
	head, contents, err := plan.Encode(p)
	if err != nil {
		return err
	}
	// A failure before the plan was read is told in a message that waits for us:
	// read on, and the error of the sending explains nothing.
	if err := s.conn.SendPlan(head, contents...); err != nil && !errors.Is(err, unix.EPIPE) {
		return s.lost(err)
	}
	if err := s.takeWatch(p); err != nil {
		return err
	}
	m, fds, err := s.conn.Receive()
	ports := name(m.Ports, fds)
	if err := s.check(m, err, wire.Walls); err != nil {
		closePorts(ports)
		return err
	}
	if p.Sentry != nil {
		if m, ports, err = s.takeSentry(p, m, ports); err != nil {
			closePorts(ports)
			return err
		}
	}
	if err := s.takePorts(p, m, ports); err != nil {
		return err
	}
	if p.Sentry != nil {
		if m.Evidence, err = s.enterSentry(p); err != nil {
			return err
		}
	}
	if err := s.witness(m); err != nil {
		return err
	}
	if err := s.conn.Send(wire.Message{Kind: wire.Go}); err != nil {
		return s.lost(err)
	}
	return s.begin(p)
}

// takeWatch hands over what the keeper needs.
func (s *sandbox) takeWatch(p *plan.Plan) error {
	if len(p.Watch) == 0 {
		return nil
	}
	m, fds, err := s.conn.Receive()
	came := name(m.Ports, fds)
	if err = s.check(m, err, wire.Watch); err == nil && (len(came) < 1 || len(came) != len(m.Ports) || s.hooks.Keep == nil) {
		err = &rung.Failure{Step: "watch", Text: fmt.Sprintf("%d descriptors came for %d names", len(came), len(m.Ports))}
	}
	layers := make([]*os.File, len(p.Trees))
	for i := 1; err == nil && i < len(came); i++ {
		n, nerr := strconv.Atoi(came[i].Name)
		if nerr != nil || n < 0 || n >= len(layers) || layers[n] != nil {
			err = &rung.Failure{Step: "watch", Text: fmt.Sprintf("a layer came for %q", came[i].Name)}
			break
		}
		layers[n] = came[i].File
	}
	if err != nil {
		closePorts(came)
		return err
	}
	return s.hooks.Keep(rung.Calls{PID: s.pid, Watch: came[0].File, Layers: layers})
}

// takePorts hands over the network.
func (s *sandbox) takePorts(p *plan.Plan, m wire.Message, ports []netns.Socket) error {
	take, came := s.hooks.Net, len(ports)
	ports = append(ports, s.first.Net...)
	if len(m.Ports) != came || (p.Capture != nil) != (came > 0) || take == nil && len(ports) > 0 {
		closePorts(ports)
		return &rung.Failure{Step: string(plan.WallNet), Text: fmt.Sprintf("%d sockets came for %d names", came, len(m.Ports))}
	}
	if len(ports) == 0 {
		return nil
	}
	n, err := netns.Hold(s.pid, ports, s.socket)
	if err != nil {
		return err
	}
	if p.Capture != nil && p.Capture.Veth != nil {
		return take(&sentryNet{n, s})
	}
	return take(n)
}

// name pairs descriptors with what they are; one too many has no name.
func name(names []string, fds []int) []netns.Socket {
	var out []netns.Socket
	for i, fd := range fds {
		n := "unknown"
		if i < len(names) {
			n = names[i]
		}
		out = append(out, netns.Socket{Name: n, File: os.NewFile(uintptr(fd), n)})
	}
	return out
}

func closePorts(ports []netns.Socket) {
	for _, p := range ports {
		p.File.Close()
	}
}

type sandbox struct {
	pid   int // of first
	first *First
	conn  *wire.Conn
	hooks rung.Hooks
	ops   []plan.Op // those by which something can be written

	around *wire.Conn // to PID 1 around a sentry; conn then leads to the one on it

	exit  chan struct{} // closed when result is set
	asked asked
	res   rung.Exit
	execs execs

	questions questions // to PID 1 on a sentry
	once      sync.Once
	reaps     sync.Once
}

func (s *sandbox) PID() int { return s.pid }

// begin takes the terminal over, if there is one, and waits until the agent runs.
func (s *sandbox) begin(p *plan.Plan) error {
	if p.Process.TTY != 0 && s.around != nil {
		if err := s.streamTerminal(); err != nil {
			return err
		}
	} else if p.Process.TTY != 0 {
		m, fds, err := s.conn.Receive()
		came := name([]string{"terminal"}, fds)
		if err := s.check(m, err, wire.PTY); err != nil || len(came) != 1 {
			closePorts(came)
			if err == nil {
				err = errors.New("tty: no terminal came with the message")
			}
			return err
		}
		if err := s.hooks.Stdio.Terminal(came[0].File, nil); err != nil {
			return fmt.Errorf("tty: %w", err)
		}
		if err := s.conn.Send(wire.Message{Kind: wire.Go}); err != nil {
			return s.lost(err)
		}
	}
	_, err := s.expect(wire.Started)
	return err
}

func (s *sandbox) expect(kind wire.Kind) (wire.Message, error) {
	m, fds, err := s.conn.Receive()
	closePorts(name(nil, fds))
	return m, s.check(m, err, kind)
}

func (s *sandbox) check(m wire.Message, err error, want wire.Kind) error {
	switch {
	case err != nil:
		return s.lost(err)
	case m.Kind == wire.Failed && m.Failure != nil:
		return &rung.Failure{Step: m.Failure.Step, Errno: syscall.Errno(m.Failure.Errno), Text: m.Failure.Text}
	case m.Kind != want:
		return fmt.Errorf("inside said %q where %q was due", m.Kind, want)
	}
	return nil
}

// lost explains a closed control socket by how the process inside ended.
func (s *sandbox) lost(err error) error {
	ws := s.wait()
	switch {
	case ws.Signaled():
		return &rung.Failure{Step: "inside", Text: fmt.Sprintf("the first process inside was ended by signal %d (%s) during start-up", ws.Signal(), ws.Signal())}
	case ws.Exited():
		return &rung.Failure{Step: "inside", Text: fmt.Sprintf("the first process inside exited with %d during start-up", ws.ExitStatus())}
	}
	return fmt.Errorf("inside: %w", err)
}

// wait returns when the first process inside has ended; the kernel has then killed all
// others.
func (s *sandbox) wait() (ws syscall.WaitStatus) {
	s.reaps.Do(func() { ws = s.first.Wait() })
	return ws
}

// listen follows the agent until it ends, or its PID 1 is gone.
func (s *sandbox) listen() {
	defer close(s.exit)
	res := rung.Exit{Killed: true}
	for {
		m, fds, err := s.conn.Receive()
		if err != nil {
			break
		}
		came := name(nil, fds)
		if m.Kind == wire.Socket && s.around == nil && s.asked.take(came) {
			continue
		}
		if m.Kind == wire.Exec {
			s.execs.started(s, m, came)
			continue
		}
		closePorts(came)
		switch m.Kind {
		case wire.Dial, wire.Servers, wire.Owner:
			s.questions.answered(m)
		case wire.Exited:
			s.execs.ended(m.ID, rung.Exit{Status: syscall.WaitStatus(m.Status)})
		case wire.Exit:
			res = rung.Exit{Status: syscall.WaitStatus(m.Status)}
			if s.around != nil {
				s.first.Kill() // the agent has ended; the sentry need not
			}
			if s.first.Leave != nil {
				s.first.Leave()
			}
		case wire.Stopped:
			s.hooks.Stdio.Stopped()
		}
	}
	if s.around != nil {
		s.first.Kill() // nobody on the sentry is there any more
	}
	if s.first.Ended != nil {
		s.first.Ended()
	} else {
		s.wait()
	}
	s.res = res
}

// Wait blocks until the agent has ended and nothing is left inside.
func (s *sandbox) Wait() (rung.Exit, error) {
	<-s.exit
	return s.res, nil
}

// Signal passes sig on to the agent's job.
func (s *sandbox) Signal(sig syscall.Signal) error {
	return s.conn.Send(wire.Message{Kind: wire.Signal, Signal: int(sig)})
}

// Close kills what is left and waits until it is gone.
func (s *sandbox) Close() error {
	s.once.Do(func() {
		s.first.Kill()
		s.wait()
		s.conn.Shutdown()
		if s.around != nil {
			s.around.Shutdown()
		}
	})
	return nil
}
