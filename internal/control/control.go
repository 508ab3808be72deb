// Package control lets a person talk to a running session from another terminal:
// see what waits, and allow it. The session listens on an abstract socket. Such a
// socket belongs to a network namespace, so that nothing inside a sandbox can see
// it, and it is gone with the process that made it, however that ends.
//
// Whoever connects must be the same user in the same user and PID namespace; whoever
// listens is held to the same. What is left at risk: another program of the user's,
// outside of any sandbox, can do here what the user can.
package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// Request is what a person wants.
type Request struct {
	Do   string        `json:"do"`             // status, grant, thaw, stop
	Rule string        `json:"rule,omitempty"` // grant: a host rule
	For  time.Duration `json:"for,omitempty"`  // grant: 0 means the rest of the session
}

// Status tells of a running session.
type Status struct {
	Session string    `json:"session"`
	Agent   string    `json:"agent"`
	Dir     string    `json:"dir"`
	Mode    string    `json:"mode"`
	Started time.Time `json:"started"`
	Pending []Pending `json:"pending"`
	Grants  []Grant   `json:"grants"`
	Servers []Server  `json:"servers"`
}

// Pending is a host that somebody inside wants and no rule allows.
type Pending struct {
	Host    string    `json:"host"`
	Port    uint16    `json:"port"`
	PID     int       `json:"pid,omitempty"`
	Command string    `json:"command,omitempty"`
	Since   time.Time `json:"since"`
	Waiting int       `json:"waiting"` // connections that wait now
	Refused int       `json:"refused"`
}

// Grant is a rule that was added while the session runs.
type Grant struct {
	Rule    string    `json:"rule"`
	Expires time.Time `json:"expires,omitzero"`
}

// Server listens inside.
type Server struct {
	Port      uint16 `json:"port"`
	Published uint16 `json:"published,omitempty"` // on the host's loopback
}

// Reply answers a request.
type Reply struct {
	Error  string  `json:"error,omitempty"`
	Status *Status `json:"status,omitempty"`
	Grant  *Grant  `json:"grant,omitempty"`
}

// Handler answers requests.
type Handler func(Request) Reply

const (
	maxMessage = 64 << 10
	maxReply   = 4 << 20
	patience   = 5 * time.Second
	maxClients = 16
)

func prefix() string { return "@ringfence/" + strconv.Itoa(os.Geteuid()) + "/" }

// Listen answers for a session until the listener is closed.
func Listen(session string, h Handler) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: prefix() + session, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	go serve(l, h)
	return l, nil
}

func serve(l *net.UnixListener, h Handler) {
	slots := make(chan struct{}, maxClients)
	for {
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		slots <- struct{}{}
		go func() {
			defer func() { c.Close(); <-slots }()
			c.SetDeadline(time.Now().Add(patience))
			if ours(c) == nil {
				answer(c, h)
			}
		}()
	}
}

func answer(c *net.UnixConn, h Handler) {
	var q Request
	if err := read(c, maxMessage, &q); err != nil {
		write(c, Reply{Error: err.Error()})
		return
	}
	write(c, h(q))
}

// Ask sends one request to a session.
func Ask(session string, q Request) (Reply, error) {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: prefix() + session, Net: "unix"})
	if err != nil {
		return Reply{}, fault.New(fault.Failed, "see `ringfence requests`", "no session %q is running", session)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	if err := ours(c); err != nil {
		return Reply{}, err
	}
	if err := write(c, q); err != nil {
		return Reply{}, err
	}
	var r Reply
	if err := read(c, maxReply, &r); err != nil {
		return Reply{}, err
	}
	if r.Error != "" {
		return Reply{}, errors.New(r.Error)
	}
	return r, nil
}

// Sessions lists the user's sessions that can be asked.
func Sessions() ([]string, error) {
	b, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if _, id, ok := strings.Cut(strings.TrimSpace(line), " "+prefix()); ok && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}

// ours holds for a peer that is the same user, in the same user and PID namespace.
func ours(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	if ctl := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); ctl != nil {
		return ctl
	}
	if err != nil {
		return err
	}
	if int(cred.Uid) != os.Geteuid() || cred.Pid == 0 {
		return errors.New("the other side of the control socket is somebody else")
	}
	for _, ns := range []string{"user", "pid"} {
		mine, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			return err
		}
		theirs, err := os.Readlink("/proc/" + strconv.Itoa(int(cred.Pid)) + "/ns/" + ns)
		if err != nil || mine != theirs {
			return fmt.Errorf("the other side of the control socket is in another %s namespace", ns)
		}
	}
	return nil
}

func read(c *net.UnixConn, limit int, v any) error {
	d := json.NewDecoder(io.LimitReader(c, int64(limit)))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("control socket: %w", err)
	}
	return nil
}

func write(c *net.UnixConn, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = c.Write(append(b, '\n'))
	return err
}
