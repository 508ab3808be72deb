package far

import (
	"fmt"
	"os"
	"syscall"

	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// stdio are the streams of the descriptors that are no terminal, in their order.
var stdio = [3]string{link.Stdin, link.Stdout, link.Stderr}

// openStdio opens the streams of a process: one for each descriptor that is no terminal,
// and one for the terminal if it has any.
func (s *sandbox) openStdio(id uint32, tty uint8, files [3]*os.File, p *pumps) (terminal *link.Stream, err error) {
	for n, of := range stdio {
		if tty&(1<<n) != 0 {
			continue
		}
		stream, err := s.link.Open(link.Stdio{Process: id, Of: of})
		if err != nil {
			return nil, err
		}
		if n == 0 {
			err = p.in(files[n], stream)
		} else {
			err = p.out(stream, files[n])
		}
		if err != nil {
			return nil, err
		}
	}
	if tty == 0 {
		return nil, nil
	}
	return s.link.Open(link.Stdio{Process: id, Of: link.Terminal})
}

// process runs beside the agent.
type process struct {
	box      *sandbox
	stream   *link.Stream
	pumps    *pumps
	terminal *os.File
	exit     chan rung.Exit
}

// Exec implements rung.Sandbox.
func (s *sandbox) Exec(c rung.Command) (rung.Process, error) {
	p := &process{box: s, pumps: newPumps(), exit: make(chan rung.Exit, 1)}
	id := s.last.Add(1)
	order := wire.Command{Dir: []byte(c.Dir), TTY: c.TTY, Rows: c.Rows, Cols: c.Cols, Argv: asBytes(c.Argv), Env: asBytes(c.Env)}
	terminal, err := s.openStdio(id, c.TTY, c.Files, p.pumps)
	if err == nil && terminal != nil {
		p.terminal, err = p.pumps.terminal(terminal)
	}
	if err == nil {
		p.stream, err = s.link.Open(link.Exec{Process: id, Command: order})
	}
	if err == nil {
		err = p.begin()
	}
	if err != nil {
		if p.stream != nil {
			p.stream.Close()
		}
		if p.terminal != nil {
			p.terminal.Close()
		}
		p.pumps.end()
		return nil, err
	}
	go p.follow()
	return p, nil
}

func asBytes(list []string) [][]byte {
	out := [][]byte{}
	for _, s := range list {
		out = append(out, []byte(s))
	}
	return out
}

func (p *process) begin() error {
	m, err := link.Receive(p.stream)
	switch {
	case err != nil:
		return errEnded
	case m.Kind == wire.Failed:
		return failure(m.Failure)
	case m.Kind != wire.Started:
		return p.box.link.Broke(fmt.Sprintf("%q of a command that should begin", m.Kind))
	}
	return nil
}

func (p *process) follow() {
	defer p.pumps.end()
	defer p.stream.Close()
	exit := rung.Exit{Killed: true}
	m, err := link.Receive(p.stream)
	switch {
	case err != nil:
	case m.Kind != wire.Exit:
		p.box.link.Broke(fmt.Sprintf("%q of a command that runs", m.Kind))
	default:
		exit, _ = exitOf(p.box.link, m)
		p.pumps.drained(p.box.over, m.Printed)
	}
	p.exit <- exit
}

// Terminal implements rung.Process.
func (p *process) Terminal() *os.File { return p.terminal }

// Resize implements rung.Process.
func (p *process) Resize(rows, cols uint16) error { return resize(p.stream, rows, cols) }

// Signal implements rung.Process.
func (p *process) Signal(sig syscall.Signal) error {
	return link.Send(p.stream, link.Message{Kind: wire.Signal, Signal: int(sig)})
}

// Wait implements rung.Process.
func (p *process) Wait() rung.Exit { return <-p.exit }
