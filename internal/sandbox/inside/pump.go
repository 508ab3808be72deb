package inside

import (
	"errors"
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// pump carries bytes between a terminal of the sentry's own and a socket of the
// supervisor's: a descriptor of the sentry's cannot leave it.
type pump struct {
	master, socket int
	stop           [2]int        // closed by finish
	done           chan struct{} // what the terminal had was written
}

// handStream waits for the supervisor's end of a stream, and for the size of the terminal.
func handStream(conn *wire.Conn, master int) (*pump, error) {
	if err := conn.Send(wire.Message{Kind: wire.PTY}); err != nil {
		return nil, err
	}
	for {
		m, fds, err := conn.Receive()
		switch {
		case err != nil:
			return nil, err
		case m.Kind == wire.Size && len(fds) == 0:
			unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: m.Rows, Col: m.Cols})
		case m.Kind == wire.Go && len(fds) == 1:
			return newPump(master, fds[0])
		default:
			closeAll(fds)
			return nil, fmt.Errorf("terminal was not taken over: %q came with %d descriptors", m.Kind, len(fds))
		}
	}
}

// newPump takes both descriptors.
func newPump(master, socket int) (*pump, error) {
	p := &pump{master: master, socket: socket, done: make(chan struct{})}
	if err := unix.Pipe2(p.stop[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	go p.out()
	go p.in()
	return p, nil
}

// out carries what was printed, until finish is called and nothing is left.
func (p *pump) out() {
	defer close(p.done)
	buf := make([]byte, 16<<10)
	polled := []unix.PollFd{{Fd: int32(p.master), Events: unix.POLLIN}, {Fd: int32(p.stop[0]), Events: unix.POLLIN}}
	for wait := -1; ; {
		n, err := unix.Poll(polled, wait)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			break
		}
		if polled[1].Revents != 0 {
			wait, polled[1].Fd = 0, -1
			continue
		}
		if n, err = unix.Read(p.master, buf); errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 || writeAll(p.socket, buf[:n]) != nil {
			break
		}
	}
	unix.Shutdown(p.socket, unix.SHUT_RDWR)
}

// in carries what was typed.
func (p *pump) in() {
	buf := make([]byte, 4<<10)
	for {
		n, err := unix.Read(p.socket, buf)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 || writeAll(p.master, buf[:n]) != nil {
			return
		}
	}
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// drains is how long the supervisor may take to accept the rest.
const drains = 2 * time.Second

// finish writes what is left, as far as somebody takes it.
func (p *pump) finish() {
	if p == nil {
		return
	}
	unix.Close(p.stop[1])
	select {
	case <-p.done:
	case <-time.After(drains):
	}
}

// resize sets the size of the terminal of a command, or of the agent.
func (in *first) resize(o order) {
	if p := in.pumps[o.id]; p != nil {
		unix.IoctlSetWinsize(p.master, unix.TIOCSWINSZ, o.size)
	}
}

// exited tells the end of a command beside the agent, after what it printed last.
func (in *first) exited(id int, ws syscall.WaitStatus) error {
	m := wire.Message{Kind: wire.Exited, ID: id, Status: int(ws)}
	p := in.pumps[id]
	if p == nil {
		return in.conn.Send(m)
	}
	delete(in.pumps, id)
	go func() { // the others are not to wait for it
		p.finish()
		unix.Close(p.master)
		unix.Close(p.socket)
		unix.Close(p.stop[0])
		in.conn.Send(m)
	}()
	return nil
}
