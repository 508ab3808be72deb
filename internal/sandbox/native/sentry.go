package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// StartSentry is Start for a plan whose agent runs on a sentry: program, runsc, starts it
// within the walls. It is opened by who judged it.
func StartSentry(ctx context.Context, p *plan.Plan, h rung.Hooks, program *os.File) (rung.Sandbox, error) {
	return StartBorn(ctx, p, h, forked(h, program))
}

// takeSentry takes the socket to PID 1 on the sentry's kernel out of what came with the
// walls around it. Those walls must all stand: on the sentry nobody can try them.
func (s *sandbox) takeSentry(p *plan.Plan, m wire.Message, ports []netns.Socket) (wire.Message, []netns.Socket, error) {
	last := len(ports) - 1
	if last < 0 || len(m.Ports) != len(ports) || ports[last].Name != wire.SentryPort {
		return m, ports, &rung.Failure{Step: "sentry", Text: "no socket to the sentry came with its walls"}
	}
	for _, o := range m.Evidence {
		if o.Open && (o.Probe != string(plan.WallLandlock) || slices.Contains(p.Walls, plan.WallLandlock)) {
			return m, ports, &rung.Failure{Step: rung.StepAround, Text: o.Probe + ": " + o.Detail}
		}
	}
	fd, err := unix.FcntlInt(ports[last].File.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return m, ports, err
	}
	ports[last].File.Close()
	s.around, s.conn = s.conn, wire.Inherited(fd)
	m.Ports = m.Ports[:last]
	return m, ports[:last], nil
}

// enterSentry hands PID 1 on the sentry's kernel its plan, and returns what it saw.
func (s *sandbox) enterSentry(p *plan.Plan) ([]wire.Observation, error) {
	head, contents, err := plan.Encode(inSentry(p))
	if err != nil {
		return nil, err
	}
	if err := s.conn.SendPlan(head, contents...); err != nil && !errors.Is(err, unix.EPIPE) {
		return nil, s.lost(err)
	}
	m, err := s.expect(wire.Walls)
	return m.Evidence, err
}

// streamTerminal makes a stream for a terminal that the sentry has, and takes it over.
func (s *sandbox) streamTerminal() error {
	if _, err := s.expect(wire.PTY); err != nil {
		return err
	}
	near, far, err := stream()
	if err != nil {
		return fmt.Errorf("tty: %w", err)
	}
	defer far.Close()
	if err := s.hooks.Stdio.Terminal(near, func(rows, cols uint16) { s.resize(0, rows, cols) }); err != nil {
		return fmt.Errorf("tty: %w", err)
	}
	if err := s.conn.Send(wire.Message{Kind: wire.Go}, int(far.Fd())); err != nil {
		return s.lost(err)
	}
	return nil
}

func stream() (near, far *os.File, err error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	return os.NewFile(uintptr(p[0]), "terminal"), os.NewFile(uintptr(p[1]), "terminal"), nil
}

func (s *sandbox) resize(id int, rows, cols uint16) error {
	return s.conn.Send(wire.Message{Kind: wire.Size, ID: id, Rows: rows, Cols: cols})
}

// listenAround hears PID 1 around the sentry: only sockets come from there. When it is
// gone, nobody waits for anything on the sentry.
func (s *sandbox) listenAround() {
	defer s.conn.Shutdown()
	for {
		m, fds, err := s.around.Receive()
		if err != nil {
			return
		}
		if came := name(nil, fds); m.Kind != wire.Socket || !s.asked.take(came) {
			closePorts(came)
		}
	}
}
