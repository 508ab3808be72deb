// Package wire carries the few messages between the supervisor and the inside
// stage over one unix stream socket: length-prefixed JSON, strictly decoded and
// bounded, with descriptors beside a message where it has any.
package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// MaxFrame bounds one message; a plan with 5000 mounts takes a tenth of it.
const MaxFrame = 32 << 20

// Kind names a message.
type Kind string

// The messages, in the order in which a session sees them. The plan comes before
// all of them, as a frame of its own.
const (
	Watch   Kind = "watch"   // inside: the keeper's descriptors come along; it must serve from here on
	Walls   Kind = "walls"   // inside: all walls are up; Evidence says what was seen, Ports what was opened
	Go      Kind = "go"      // supervisor: the witness outside agrees, start the agent
	PTY     Kind = "pty"     // inside: the master of the inner terminal comes along
	Started Kind = "started" // inside: the agent runs
	Stopped Kind = "stopped" // inside: the agent was stopped (Ctrl-Z)
	Signal  Kind = "signal"  // supervisor: pass this signal on
	Size    Kind = "size"    // supervisor: the terminal has this size; only where the terminal is a sentry's
	Socket  Kind = "socket"  // supervisor: make a TCP socket inside; inside: here it is
	Dial    Kind = "dial"    // supervisor: carry the stream that comes along to this port of the sentry's loopback; inside: it is, or Failure says why not
	Servers Kind = "servers" // supervisor: where does somebody listen on the sentry's loopback; inside: there
	Owner   Kind = "owner"   // supervisor: who made this connection; inside: that one, as far as it is known
	Exec    Kind = "exec"    // supervisor: start this beside the agent, on the three descriptors that come along; inside: it runs (its terminal comes along), or Failure says why not
	Exited  Kind = "exited"  // inside: what ran beside the agent ended
	Exit    Kind = "exit"    // inside: the agent ended
	Failed  Kind = "failed"  // inside: a step failed; nothing was started
)

// The messages between the supervisor and who starts a first process for it elsewhere.
const (
	Clone  Kind = "clone"  // supervisor: start it, on the four descriptors that come along
	Born   Kind = "born"   // the other: here is a descriptor of it
	Become Kind = "become" // supervisor: be it yourself, on the four descriptors that come along
	Hold   Kind = "hold"   // supervisor: raise the network of the plan that follows; the other: here are its sockets
	Look   Kind = "look"   // supervisor: say what you have of an operating system; the other: this
)

// SentryPort is the name of the descriptor that leads to PID 1 on a sentry's kernel; it
// comes with the walls around the sentry.
const SentryPort = "sentry"

// Message is one message. Only the fields of its kind are set.
type Message struct {
	Kind     Kind          `json:"kind"`
	Evidence []Observation `json:"evidence,omitempty"`
	Keyring  int           `json:"keyring,omitempty"` // walls: serial of the session keyring
	Ports    []string      `json:"ports,omitempty"`   // walls: names of the descriptors that come along
	Signal   int           `json:"signal,omitempty"`
	Status   int           `json:"status,omitempty"` // exit: wait status
	Failure  *Failure      `json:"failure,omitempty"`
	IPv6     bool          `json:"ipv6,omitempty"` // socket: of which family
	ID       int           `json:"id,omitempty"`   // exec, exited, signal: of which command; 0 is the agent. dial, servers, owner: of which question
	Port     uint16        `json:"port,omitempty"` // dial
	Servers  []uint16      `json:"servers,omitempty"`
	Command  *Command      `json:"command,omitempty"`
	Made     *Made         `json:"made,omitempty"` // owner
	Rows     uint16        `json:"rows,omitempty"` // size
	Cols     uint16        `json:"cols,omitempty"`
	Child    *Child        `json:"child,omitempty"`  // clone
	System   []Node        `json:"system,omitempty"` // look
}

// Node is a name of an operating system.
type Node struct {
	Path []byte `json:"path"`
	Link []byte `json:"link,omitempty"`
	Real []byte `json:"real"`
}

// Child is the first process of a sandbox that is to be.
type Child struct {
	Walls []string `json:"walls"`
	UID   int      `json:"uid"`
	GID   int      `json:"gid"`
}

// Made is a connection, and who made it.
type Made struct {
	From netip.AddrPort `json:"from,omitzero"`
	To   netip.AddrPort `json:"to,omitzero"`
	PID  int            `json:"pid,omitempty"`
	Name []byte         `json:"name,omitempty"`
}

// Command is what runs beside the agent. Strings are bytes: a name need not be text.
type Command struct {
	Argv       [][]byte `json:"argv"`
	Env        [][]byte `json:"env"` // replaces what the agent has of the same name
	Dir        []byte   `json:"dir,omitempty"`
	TTY        uint8    `json:"tty,omitempty"` // bit n: descriptor n is a terminal
	Rows, Cols uint16   `json:",omitempty"`
}

// Observation is what one probe saw from inside.
type Observation struct {
	Probe  string `json:"probe"`
	Open   bool   `json:"open"`
	Detail string `json:"detail"`
}

// Failure says which step failed and how.
type Failure struct {
	Step  string `json:"step"`            // a wall, or "view", "exec", "plan"
	Text  string `json:"text"`            // the whole error
	Errno int    `json:"errno,omitempty"` // the errno in its chain, if any
}

// Conn is one end of the socket. Send may be called from several goroutines;
// Receive from one.
type Conn struct {
	fd   int
	send sync.Mutex
	pend []int // descriptors that came with bytes not yet consumed
}

// Pair makes a connected pair; the second end is for the child.
func Pair() (*Conn, *os.File, error) {
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	return &Conn{fd: p[0]}, os.NewFile(uintptr(p[1]), "inside"), nil
}

// Inherited returns the end that the child finds at fd.
func Inherited(fd int) *Conn {
	unix.CloseOnExec(fd)
	return &Conn{fd: fd}
}

// Close closes this end; the other reads io.EOF.
func (c *Conn) Close() error {
	for _, fd := range c.pend {
		unix.Close(fd)
	}
	c.pend = nil
	return unix.Close(c.fd)
}

// Shutdown wakes a Receive that is blocked in this or the other process.
func (c *Conn) Shutdown() { unix.Shutdown(c.fd, unix.SHUT_RDWR) }

// claimed is what a peer gets memory for before it has sent anything.
const claimed = 1 << 20

// MaxFDs bounds the descriptors of one message; the kernel's own bound is 253.
const MaxFDs = 250

// Send writes m, with descriptors beside it.
func (c *Conn) Send(m Message, fds ...int) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode %s: %w", m.Kind, err)
	}
	if err := c.writeFrame(fds, body); err != nil {
		return fmt.Errorf("send %s: %w", m.Kind, err)
	}
	return nil
}

// SendPlan writes an encoded plan and what follows it. It is not wrapped in a Message:
// it is by far the largest thing that is sent, and would be scanned twice on either side.
func (c *Conn) SendPlan(plan []byte, contents ...[]byte) error {
	if err := c.writeFrame(nil, append([][]byte{plan}, contents...)...); err != nil {
		return fmt.Errorf("send plan: %w", err)
	}
	return nil
}

func (c *Conn) writeFrame(fds []int, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > MaxFrame {
		return fmt.Errorf("%d bytes exceed %d", size, MaxFrame)
	}
	if len(fds) > MaxFDs {
		return fmt.Errorf("%d descriptors exceed %d", len(fds), MaxFDs)
	}
	buf := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(parts[0])), uint32(size))
	parts[0] = append(buf, parts[0]...)
	var oob []byte
	if len(fds) > 0 {
		oob = unix.UnixRights(fds...)
	}
	c.send.Lock()
	defer c.send.Unlock()
	for _, p := range parts {
		if err := c.write(p, oob); err != nil {
			return err
		}
		oob = nil
	}
	return nil
}

func (c *Conn) write(buf, oob []byte) error {
	for len(buf) > 0 {
		n, err := unix.SendmsgN(c.fd, buf, oob, nil, unix.MSG_NOSIGNAL)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		buf, oob = buf[n:], nil
	}
	return nil
}

// Receive reads one message and the descriptors that came with it, which are the
// caller's to close.
func (c *Conn) Receive() (Message, []int, error) {
	body, err := c.readFrame()
	if err != nil {
		return Message{}, nil, err
	}
	m, err := Decode(body)
	if err != nil {
		return Message{}, nil, err
	}
	fds := c.pend
	c.pend = nil
	return m, fds, nil
}

// ReceivePlan reads what SendPlan wrote.
func (c *Conn) ReceivePlan() ([]byte, error) { return c.readFrame() }

func (c *Conn) readFrame() ([]byte, error) {
	var head [4]byte
	if err := c.fill(head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 || n > MaxFrame {
		return nil, fmt.Errorf("frame of %d bytes is out of bounds", n)
	}
	var body []byte
	for have := 0; have < int(n); have = len(body) {
		// A peer may claim a length and send nothing: memory follows what came.
		body = append(body, make([]byte, min(int(n)-have, max(have, claimed)))...)
		if err := c.fill(body[have:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return body, nil
}

// Decode reads one message strictly: unknown fields and trailing bytes are errors.
func Decode(body []byte) (Message, error) {
	var m Message
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return Message{}, fmt.Errorf("decode message: %w", err)
	}
	if d.InputOffset() != int64(len(bytes.TrimRight(body, " \t\r\n"))) {
		return Message{}, errors.New("decode message: bytes after the end")
	}
	if m.Kind == "" {
		return Message{}, errors.New("decode message: no kind")
	}
	return m, nil
}

func (c *Conn) fill(buf []byte) error {
	oob := make([]byte, unix.CmsgSpace(4*MaxFDs))
	for len(buf) > 0 {
		n, oobn, flags, _, err := unix.Recvmsg(c.fd, buf, oob, unix.MSG_CMSG_CLOEXEC)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		c.keepFDs(oob[:oobn])
		if n == 0 {
			return io.EOF
		}
		if flags&unix.MSG_CTRUNC != 0 || len(c.pend) > MaxFDs {
			return fmt.Errorf("receive: more than %d descriptors came, or some were lost", MaxFDs)
		}
		buf = buf[n:]
	}
	return nil
}

func (c *Conn) keepFDs(oob []byte) {
	if len(oob) == 0 {
		return
	}
	msgs, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return
	}
	for i := range msgs {
		if fds, err := unix.ParseUnixRights(&msgs[i]); err == nil {
			c.pend = append(c.pend, fds...)
		}
	}
}
