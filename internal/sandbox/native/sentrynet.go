package native

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// sentryNet is the network of a sentry with a stack of its own. Where it ends, sockets of
// this kernel are; what is on the sentry's loopback, only PID 1 there can say and reach.
type sentryNet struct {
	*netns.Network
	box *sandbox
}

// Owner implements rung.Net: frames do not tell who sent them, and PID 1 on the sentry does.
// A sentry that is broken can name anybody.
func (n *sentryNet) Owner(from, to netip.AddrPort) (int, string) {
	unmap := func(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
	m, err := n.box.ask(wire.Message{Kind: wire.Owner, Made: &wire.Made{From: unmap(from), To: unmap(to)}})
	if err != nil || m.Made == nil || m.Made.PID < 1 || m.Made.PID > maxPID {
		return 0, ""
	}
	return m.Made.PID, string(m.Made.Name[:min(len(m.Made.Name), maxName)])
}

// What a kernel has at most: of process numbers, and of bytes of a name.
const (
	maxPID  = 1 << 22
	maxName = 15
)

// Listening implements rung.Net.
func (n *sentryNet) Listening() []uint16 {
	m, err := n.box.ask(wire.Message{Kind: wire.Servers})
	if err != nil {
		return nil
	}
	return m.Servers
}

// Dial implements rung.Net.
func (n *sentryNet) Dial(port uint16) (rung.Conn, error) {
	near, far, err := stream()
	if err != nil {
		return nil, err
	}
	defer far.Close()
	defer near.Close() // what is used is a copy
	c, err := net.FileConn(near)
	if err != nil {
		return nil, err
	}
	if _, err := n.box.ask(wire.Message{Kind: wire.Dial, Port: port}, int(far.Fd())); err != nil {
		c.Close()
		return nil, err
	}
	return &streamConn{UnixConn: c.(*net.UnixConn)}, nil
}

// replies is how long PID 1 on a sentry may take for an answer.
const replies = 5 * time.Second

// questions are those that wait for an answer, by number.
type questions struct {
	mu   sync.Mutex
	last int
	open map[int]chan wire.Message
}

// ask sends a question to PID 1 on a sentry, and waits for the answer.
func (s *sandbox) ask(m wire.Message, fds ...int) (wire.Message, error) {
	q, answer := &s.questions, make(chan wire.Message, 1)
	q.mu.Lock()
	if q.open == nil {
		q.open = map[int]chan wire.Message{}
	}
	q.last++
	m.ID = q.last
	q.open[m.ID] = answer
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.open, m.ID)
	}()
	if err := s.conn.Send(m, fds...); err != nil {
		return wire.Message{}, err
	}
	select {
	case got := <-answer:
		if f := got.Failure; f != nil {
			return got, &rung.Failure{Step: f.Step, Text: f.Text}
		}
		return got, nil
	case <-time.After(replies):
		return wire.Message{}, os.ErrDeadlineExceeded
	case <-s.exit:
		return wire.Message{}, errors.New("the sandbox has ended")
	}
}

// answered passes an answer on to who waits for it.
func (q *questions) answered(m wire.Message) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if c := q.open[m.ID]; c != nil {
		delete(q.open, m.ID)
		c <- m
	}
}

// streamConn is a connection to a server on a sentry, carried by a stream. A reset of
// either side is an end on the other.
type streamConn struct {
	*net.UnixConn
	most atomic.Int64 // a time.Duration: what is written must be taken so soon; 0: no bound
}

// Write implements net.Conn.
func (c *streamConn) Write(b []byte) (int, error) {
	if most := time.Duration(c.most.Load()); most > 0 {
		c.SetWriteDeadline(time.Now().Add(most))
	}
	return c.UnixConn.Write(b)
}

// Unread implements rung.Conn.
func (c *streamConn) Unread(most time.Duration) { c.most.Store(int64(most)) }

// Sent implements rung.Conn.
func (*streamConn) Sent() (time.Duration, bool) { return 0, false }

// SetLinger implements rung.Conn.
func (*streamConn) SetLinger(int) error { return nil }

// Socket implements rung.Conn: it is none of TCP.
func (*streamConn) Socket() *net.TCPConn { return nil }

// Original implements rung.Conn.
func (*streamConn) Original() (netip.AddrPort, error) {
	return netip.AddrPort{}, errors.New("nobody turned it to the gate")
}
