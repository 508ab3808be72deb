package far

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// attend takes what the near end opens while the sandbox starts and runs.
func (t *there) attend() {
	for {
		s, err := t.link.Accept()
		if err != nil {
			return
		}
		switch h := s.Header().(type) {
		case link.Datagrams:
			go t.datagrams(s, h.Port)
		case link.Dial:
			go t.dial(s, h.Port)
		case link.Ask:
			go t.answer(s, h)
		case link.Stdio:
			t.mu.Lock()
			t.stdio[h] = s
			t.mu.Unlock()
		case link.Exec:
			go t.exec(s, h)
		case link.Overlay:
			go t.overlay(s, h)
		case link.Put:
			go t.put(s, h)
		default:
			s.Reset(link.Refused)
		}
	}
}

// answer answers a question.
func (t *there) answer(s *link.Stream, q link.Ask) {
	defer s.Close()
	t.mu.Lock()
	net, box := t.net, t.box
	t.mu.Unlock()
	var a link.Answer
	err := errors.New("the sandbox has not begun")
	switch {
	case q.What == link.Freeze && box != nil:
		err = t.still.freeze(box, byNear)
	case q.What == link.Thaw && box != nil:
		err = t.still.thaw(box, byNear)
	case q.What == link.Settle && t.disk != nil:
		err = unix.Syncfs(int(t.disk.Fd()))
	case q.What == link.Listening && net != nil:
		a.Ports, err = net.Listening(), nil
		a.Ports = a.Ports[:min(len(a.Ports), link.MaxPorts)]
	case q.What == link.Owner && net != nil:
		a.PID, a.Command = net.Owner(q.From, q.To)
		err = nil
	}
	m := link.Message{Kind: link.Answered, Answer: &a}
	if err != nil {
		m = link.Message{Kind: wire.Failed, Failure: failed(err)}
	}
	link.Send(s, m)
}

// descriptors are those of a process, at the far end.
type descriptors struct {
	files    [3]*os.File        // for the process
	ours     []*os.File         // our copies of them
	prints   map[string]*source // by stream
	terminal *link.Stream       // nil: it has none
	master   *os.File           // of the terminal, once it is there
}

// streamsOf is how many streams the descriptors of a process have.
func streamsOf(tty uint8) (n int) {
	for i := range 3 {
		if tty&(1<<i) == 0 {
			n++
		}
	}
	if tty != 0 {
		n++
	}
	return n
}

// take makes the descriptors of a process from the streams that were opened for it.
func (t *there) take(id uint32, tty uint8) (*descriptors, error) {
	d := &descriptors{prints: map[string]*source{}}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return d, err
	}
	d.ours = append(d.ours, null)
	for n, of := range stdio {
		d.files[n] = null
		if tty&(1<<n) != 0 {
			continue
		}
		s := t.streamOf(id, of)
		if s == nil {
			return d, errNoFile
		}
		r, w, err := os.Pipe()
		if err != nil {
			return d, err
		}
		if n == 0 {
			d.files[n] = r
			go feed(w, s)
		} else {
			d.files[n] = w
			d.prints[of] = newSource(r, s)
		}
		d.ours = append(d.ours, d.files[n])
	}
	if tty != 0 {
		if d.terminal = t.streamOf(id, link.Terminal); d.terminal == nil {
			return d, errNoFile
		}
	}
	return d, nil
}

func (t *there) streamOf(id uint32, of string) *link.Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := link.Stdio{Process: id, Of: of}
	s := t.stdio[key]
	delete(t.stdio, key)
	return s
}

// closeInside closes our copies of what the process has.
func (d *descriptors) closeInside() {
	for _, f := range d.ours {
		f.Close()
	}
	d.ours = nil
}

// carryTerminal relays a terminal, whose master it takes.
func (d *descriptors) carryTerminal() {
	d.prints[link.Terminal] = newSource(d.master, d.terminal)
	go func() { // the master is closed when nobody prints any more
		d.terminal.WriteTo(d.master)
		d.terminal.CloseRead()
	}()
}

// resize sets the size of the terminal.
func (d *descriptors) resize(size *link.TerminalSize) {
	if d.master == nil {
		return
	}
	if raw, err := d.master.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) {
			unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
		})
	}
}

// ended is the message of an end, once what was printed before it has been sent.
func (d *descriptors) ended(e rung.Exit, cut <-chan struct{}) link.Message {
	m := link.Message{Kind: wire.Exit, Status: int(e.Status)}
	if e.Killed {
		m.Status = int(syscall.SIGKILL)
	}
	m.Printed = &link.Printed{Out: d.prints[link.Stdout].caughtUp(cut), Err: d.prints[link.Stderr].caughtUp(cut), Terminal: d.prints[link.Terminal].caughtUp(cut)}
	return m
}

// exec runs a command beside the agent. It ends with its stream.
func (t *there) exec(s *link.Stream, h link.Exec) {
	defer s.Close()
	refuse := func(err error) { link.Send(s, link.Message{Kind: wire.Failed, Failure: failed(err)}) }
	box := t.sandbox()
	if box == nil {
		refuse(errEnded)
		return
	}
	in, err := t.take(h.Process, h.Command.TTY)
	defer in.closeInside()
	if err != nil {
		refuse(err)
		return
	}
	c := rung.Command{Argv: asStrings(h.Command.Argv), Env: asStrings(h.Command.Env), Dir: string(h.Command.Dir), TTY: h.Command.TTY,
		Rows: h.Command.Rows, Cols: h.Command.Cols, Files: in.files}
	p, err := box.Exec(c)
	in.closeInside()
	if err == nil && p.Terminal() != nil {
		if in.master, err = pollable(p.Terminal()); err == nil {
			in.carryTerminal()
		}
	}
	if err != nil {
		refuse(err)
		return
	}
	if link.Send(s, link.Message{Kind: wire.Started}) != nil {
		p.Signal(syscall.SIGKILL)
	}
	go t.obeyExec(s, p, in)
	link.Send(s, in.ended(p.Wait(), t.cut))
}

// obeyExec does what the near end says of a command.
func (t *there) obeyExec(s *link.Stream, p rung.Process, in *descriptors) {
	for {
		m, err := link.Receive(s)
		switch {
		case err != nil:
			p.Signal(syscall.SIGKILL)
			return
		case m.Kind == wire.Signal:
			p.Signal(syscall.Signal(m.Signal))
		case m.Kind == wire.Size:
			in.resize(m.Terminal)
		default:
			t.link.Broke(string(m.Kind))
		}
	}
}

func asStrings(list [][]byte) (out []string) {
	for _, b := range list {
		out = append(out, string(b))
	}
	return out
}
