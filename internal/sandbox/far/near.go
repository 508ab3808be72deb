package far

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/upper"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// sandbox is one at the far end, as the near end has it.
type sandbox struct {
	link    *link.Link
	hooks   rung.Hooks
	control *link.Stream
	pumps   *pumps // of the agent
	last    atomic.Uint32
	program *rung.Program
	saw     map[string]string // of the place, from this machine
	ours    bool              // the far end is a witness until the agent runs: see End
	lasts   Lasting           // of End
	way     Lasting           // nil: the end of its connection is the end
	breaks  breaks
	ground  *ground // nil: its disk is none of this machine's

	syncing sync.Mutex
	layers  []*layer
	most    upper.Bounds
	keep    time.Duration // how long it waits for room once the agent has ended
	synced  time.Time     // when all of them were last brought over

	over   context.Context // done with the link, or soon after Close
	cancel func()
	closed atomic.Bool
	once   sync.Once
	gone   chan struct{} // closed when nothing runs there any more, by its word, or the link has ended
	left   func()        // closes it
	exit   chan struct{} // closed when res and err are set
	res    rung.Exit
	err    error
}

func newSandbox(l *link.Link, h rung.Hooks) *sandbox {
	over, cancel := context.WithCancel(context.Background())
	go func() { <-l.Done(); cancel() }()
	gone := make(chan struct{})
	return &sandbox{link: l, hooks: h, pumps: newPumps(), over: over, cancel: cancel, most: upper.Most, keep: keepEnded, gone: gone, left: sync.OnceFunc(func() { close(gone) }), exit: make(chan struct{})}
}

// Bounds of what a far end tells at launch.
const (
	maxProbes = 64
	maxFacts  = 256
)

// launch hands the plan over, hears what the walls look like there, takes the network, lets
// the witness judge, and says go. What is sent has the names that files have there.
func (s *sandbox) launch(ctx context.Context, p, sent *plan.Plan) error {
	defer context.AfterFunc(ctx, func() { s.link.Close() })()
	if err := s.sendPlan(sent); err != nil {
		return s.lost(err)
	}
	terminal, err := s.openStdio(0, p.Process.TTY, [3]*os.File{s.hooks.Stdio.In, s.hooks.Stdio.Out, s.hooks.Stdio.Err}, s.pumps)
	if err == nil {
		err = s.sendLayers(p)
	}
	if err != nil {
		return s.lost(err)
	}
	seen, err := s.hear()
	if err != nil {
		return err
	}
	if err := s.takeNet(p); err != nil {
		return err
	}
	if s.hooks.Witness != nil {
		if err := s.hooks.Witness(seen); err != nil {
			return err
		}
	}
	s.outlive(s.lasts) // from here on the agent may run: what it does is not given up for a lost connection
	if err := link.Send(s.control, link.Message{Kind: wire.Go}); err != nil {
		return s.lost(err)
	}
	if terminal != nil {
		if err := s.handTerminal(terminal); err != nil {
			return err
		}
	}
	_, err = s.expect(wire.Started)
	return err
}

func (s *sandbox) sendPlan(p *plan.Plan) (err error) {
	if s.control, err = s.link.Open(link.Control{}); err != nil {
		return err
	}
	head, contents, err := plan.Encode(p)
	if err != nil {
		return err
	}
	to, err := s.link.Open(link.Plan{})
	if err != nil {
		return err
	}
	for _, part := range append([][]byte{head}, contents...) {
		if _, err := to.Write(part); err != nil {
			return err
		}
	}
	return to.CloseWrite()
}

// hear collects what the far end says of its walls. That it says it is no proof.
func (s *sandbox) hear() (rung.Seen, error) {
	seen := rung.Seen{Outside: map[string]string{}, Word: !s.ours, Program: s.program, Place: s.saw}
	for range maxProbes + maxFacts {
		m, err := s.expect(link.Probe, link.Saw, wire.Walls)
		if err != nil {
			return seen, err
		}
		switch m.Kind {
		case link.Probe:
			seen.Probes = append(seen.Probes, rung.Observation{Probe: Clean(m.Seen.Probe), Open: m.Seen.Open, Detail: Clean(m.Seen.Detail)})
		case link.Saw:
			seen.Outside[m.Outside.Name] = Clean(m.Outside.Value)
		default:
			seen.Keyring = m.Keyring
			if !stands(seen.Outside) {
				return seen, s.lost(s.link.Broke("nothing about where it stands itself"))
			}
			return seen, nil
		}
		if len(seen.Probes) > maxProbes {
			break
		}
	}
	return seen, s.lost(s.link.Broke("too much about its walls"))
}

// stands says whether a far end has told of itself all that its walls are compared with: numbers
// of this kernel say nothing about those of another.
func stands(outside map[string]string) bool {
	for _, kind := range probe.Kinds() {
		if outside[probe.LookerNS+kind] == "" {
			return false
		}
	}
	return outside[probe.LookerKeyring] != ""
}

// takeNet hands the network over.
func (s *sandbox) takeNet(p *plan.Plan) error {
	n, err := newNetwork(s.link, p)
	if err != nil {
		return s.lost(err)
	}
	go n.accept()
	if p.Capture == nil {
		return nil
	}
	if s.hooks.Net == nil {
		return &rung.Failure{Step: string(plan.WallNet), Text: "nobody takes the network"}
	}
	return s.hooks.Net(n)
}

// handTerminal gives the supervisor a stream, and begins with its size.
func (s *sandbox) handTerminal(stream *link.Stream) error {
	if _, err := s.expect(wire.PTY); err != nil {
		return err
	}
	near, err := s.pumps.terminal(stream)
	if err != nil {
		return fmt.Errorf("tty: %w", err)
	}
	if err := s.hooks.Stdio.Terminal(near, func(rows, cols uint16) { resize(s.control, rows, cols) }); err != nil {
		return fmt.Errorf("tty: %w", err)
	}
	if err := link.Send(s.control, link.Message{Kind: wire.Go}); err != nil {
		return s.lost(err)
	}
	return nil
}

func resize(to *link.Stream, rows, cols uint16) error {
	return link.Send(to, link.Message{Kind: wire.Size, Terminal: &link.TerminalSize{Rows: rows, Cols: cols}})
}

// expect reads one message of the kinds that are due, or a failure.
func (s *sandbox) expect(due ...wire.Kind) (link.Message, error) {
	m, err := link.Receive(s.control)
	switch {
	case err != nil:
		return m, s.lost(err)
	case m.Kind == wire.Failed:
		return m, failure(m.Failure)
	case !slices.Contains(due, m.Kind):
		return m, s.lost(s.link.Broke(fmt.Sprintf("%q where %q was due", m.Kind, due)))
	}
	return m, nil
}

func failure(f *wire.Failure) *rung.Failure {
	out := &rung.Failure{Step: Clean(f.Step), Text: Clean(f.Text)}
	if f.Errno > 0 && f.Errno < 4096 {
		out.Errno = syscall.Errno(f.Errno)
	}
	return out
}

// lost says why the launch went no further.
func (s *sandbox) lost(err error) error {
	if end := s.link.Err(); end != nil {
		err = end
	}
	return fault.New(fault.Failed, "start it again", "the far end is gone: %s", Clean(err.Error()))
}

// listen follows the agent until it has ended, or the link. Then nothing of its network is
// left, and what it changed is brought over for the last time.
func (s *sandbox) listen() {
	defer close(s.exit)
	s.res = rung.Exit{Killed: true}
	err := s.follow()
	var torn error
	if err == nil {
		torn = s.settle()
		err = s.bringRest()
	}
	if err == nil && s.way != nil {
		s.way.Over()
	}
	s.link.Close()
	if err != nil && (!s.closed.Load() || len(s.layers) > 0) {
		s.err = s.ended(err)
	} else if err == nil {
		s.err = torn
	}
	s.tidy()
	s.pumps.end()
}

// ended says why the link ended by itself, and what was lost by that.
func (s *sandbox) ended(err error) error {
	if len(s.layers) == 0 {
		return fault.New(fault.Failed, "start it again", "the far end is gone: %s", Clean(err.Error()))
	}
	since := "that it changed"
	if !s.synced.IsZero() {
		since = "that it changed after " + s.synced.Format(time.TimeOnly)
	}
	if s.way != nil {
		text, hint := s.way.Left()
		return fault.New(fault.Failed, hint, "the far end is gone: %s. All %s %s", Clean(err.Error()), since, text)
	}
	return fault.New(fault.Failed, "what came before waits for review: ringfence diff", "the far end is gone, and all %s is lost: %s", since, Clean(err.Error()))
}

func (s *sandbox) follow() error {
	defer s.left()
	for {
		m, err := link.Receive(s.control)
		if err != nil {
			return err
		}
		switch m.Kind {
		case wire.Stopped:
			s.hooks.Stdio.Stopped()
		case wire.Exit:
			s.left()
			s.link.Sever()
			if s.res, err = exitOf(s.link, m); err == nil {
				s.pumps.drained(s.over, m.Printed) // before anybody knows of the end
			}
			return err
		default:
			return s.link.Broke(fmt.Sprintf("%q while the agent runs", m.Kind))
		}
	}
}

// exitOf takes only what an end can look like.
func exitOf(l *link.Link, m link.Message) (rung.Exit, error) {
	ws := syscall.WaitStatus(m.Status)
	if !ws.Exited() && !ws.Signaled() {
		return rung.Exit{Killed: true}, l.Broke("an end that is none")
	}
	return rung.Exit{Status: ws}, nil
}

// PID implements rung.Sandbox: no process of this kernel.
func (s *sandbox) PID() int { return 0 }

// Wait implements rung.Sandbox.
func (s *sandbox) Wait() (rung.Exit, error) {
	<-s.exit
	return s.res, s.err
}

// Signal implements rung.Sandbox.
func (s *sandbox) Signal(sig syscall.Signal) error {
	return link.Send(s.control, link.Message{Kind: wire.Signal, Signal: int(sig)})
}

// Freeze implements rung.Sandbox. That it stands still there is the far end's word; that
// nothing leaves is not: the network is held here, before anybody there is asked.
func (s *sandbox) Freeze() error {
	s.link.Pause()
	if s.ground.hold() {
		return nil
	}
	return s.ask(link.Freeze)
}

// Thaw implements rung.Sandbox.
func (s *sandbox) Thaw() error {
	s.link.Resume()
	if s.ground.release() {
		return nil
	}
	return s.ask(link.Thaw)
}

func (s *sandbox) ask(what string) error {
	_, err := ask(s.link, link.Ask{What: what}, patience)
	return err
}

// patience is how long the far end may take to answer.
const patience = 10 * time.Second

// ask asks the far end, and waits for a bounded time.
func ask(l *link.Link, a link.Ask, most time.Duration) (link.Answer, error) {
	q, err := l.Open(a)
	if err != nil {
		return link.Answer{}, err
	}
	defer q.Close()
	q.SetReadDeadline(time.Now().Add(most))
	m, err := link.Receive(q)
	switch {
	case err != nil:
		return link.Answer{}, err
	case m.Kind == wire.Failed:
		return link.Answer{}, failure(m.Failure)
	case m.Kind != link.Answered:
		return link.Answer{}, l.Broke(fmt.Sprintf("%q as an answer", m.Kind))
	}
	return *m.Answer, nil
}

// Close implements rung.Sandbox: the end of the link is the end of everything there. Where
// something waits for review, the sandbox is ended first and that is brought over; its
// network is gone before.
func (s *sandbox) Close() error {
	s.once.Do(func() {
		s.closed.Store(true)
		time.AfterFunc(leaves, s.cancel) // nobody waits for who does not take what was printed
		if len(s.layers) == 0 || !s.end() {
			s.link.Close()
		}
	})
	<-s.exit
	return nil
}

// Cut ends the link at once. What was not brought over is lost.
func (s *sandbox) Cut() { s.link.Close() }

// end ends the sandbox and keeps the link. It says whether the far end did so.
func (s *sandbox) end() bool {
	s.link.Sever()
	if !s.awaitGround() {
		return false
	}
	s.control.SetWriteDeadline(time.Now().Add(leaves))
	if link.Send(s.control, link.Message{Kind: link.End}) != nil {
		return false
	}
	select {
	case <-s.gone:
		return true
	case <-time.After(leaves):
	}
	if broken, _ := s.breaks.now(); !broken || s.ground == nil || !s.awaitGround() {
		return false
	}
	select { // it stood still for want of room just then
	case <-s.gone:
		return true
	case <-time.After(leaves):
		return false
	}
}

// errBroken: the way to the far end is broken just now.
var errBroken = errors.New("the link is broken: ringfence attach tries to take it up at once")

var errNoFile = errors.New("a descriptor of the process is not there")
