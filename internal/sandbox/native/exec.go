package native

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// answers is how long the first process inside may take to start a command, also on a
// machine that is slow, and behind another command that does not begin.
const answers = 90 * time.Second

// execs are the commands that run beside the agent, by their number.
type execs struct {
	mu   sync.Mutex
	last int
	all  map[int]*process
}

// process is one of them.
type process struct {
	box      *sandbox
	id       int
	began    chan error // what became of the start
	told     bool       // it was said
	terminal *os.File
	exit     chan rung.Exit
}

func (e *execs) add(box *sandbox) *process {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all == nil {
		e.all = map[int]*process{}
	}
	e.last++
	p := &process{box: box, id: e.last, began: make(chan error, 1), exit: make(chan rung.Exit, 1)}
	e.all[p.id] = p
	return p
}

func (e *execs) get(id int) *process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[id]
}

func (e *execs) drop(id int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.all, id)
}

// started hears what became of a start.
func (e *execs) started(box *sandbox, m wire.Message, came []netns.Socket) {
	p := e.get(m.ID)
	if p == nil || len(came) > 1 || p.told || box.around != nil && len(came) > 0 { // no descriptor leaves a sentry
		closePorts(came)
		box.conn.Send(wire.Message{Kind: wire.Signal, ID: m.ID, Signal: int(syscall.SIGKILL)}) // nobody waits for it any more
		return
	}
	p.told = true
	if f := m.Failure; f != nil {
		closePorts(came)
		p.began <- &rung.Failure{Step: f.Step, Errno: syscall.Errno(f.Errno), Text: f.Text}
		return
	}
	if len(came) == 1 {
		p.terminal = came[0].File
	}
	p.began <- nil
}

// ended hears of an end.
func (e *execs) ended(id int, exit rung.Exit) {
	if p := e.get(id); p != nil {
		e.drop(id)
		p.exit <- exit
	}
}

// Exec implements rung.Sandbox.
func (s *sandbox) Exec(c rung.Command) (rung.Process, error) {
	p := s.execs.add(s)
	order := &wire.Command{Dir: []byte(c.Dir), TTY: c.TTY, Rows: c.Rows, Cols: c.Cols}
	for _, a := range c.Argv {
		order.Argv = append(order.Argv, []byte(a))
	}
	for _, v := range c.Env {
		order.Env = append(order.Env, []byte(v))
	}
	var fds []int
	for _, f := range c.Files {
		fds = append(fds, int(f.Fd()))
	}
	if s.around != nil && c.TTY != 0 {
		near, far, err := stream()
		if err != nil {
			s.execs.drop(p.id)
			return nil, err
		}
		defer far.Close()
		p.terminal, fds = near, append(fds, int(far.Fd()))
	}
	err := s.conn.Send(wire.Message{Kind: wire.Exec, ID: p.id, Command: order}, fds...)
	if err == nil {
		select {
		case err = <-p.began:
		case <-time.After(answers):
			err = errors.New("the sandbox does not answer")
		case <-s.exit:
			err = errors.New("the sandbox has ended")
		}
	}
	if err == nil && (c.TTY != 0) != (p.terminal != nil) {
		err = fmt.Errorf("no terminal came, or one too many")
	}
	if err != nil {
		s.execs.drop(p.id)
		if p.terminal != nil {
			p.terminal.Close()
		}
		return nil, err
	}
	return p, nil
}

// Resize implements rung.Process.
func (p *process) Resize(rows, cols uint16) error {
	if p.box.around == nil {
		return errors.New("who has the terminal sets its size")
	}
	return p.box.resize(p.id, rows, cols)
}

func (p *process) Terminal() *os.File { return p.terminal }

func (p *process) Signal(sig syscall.Signal) error {
	return p.box.conn.Send(wire.Message{Kind: wire.Signal, ID: p.id, Signal: int(sig)})
}

func (p *process) Wait() rung.Exit {
	select {
	case exit := <-p.exit:
		return exit
	case <-p.box.exit:
	}
	select { // both may be there
	case exit := <-p.exit:
		return exit
	default:
		return rung.Exit{Killed: true}
	}
}
