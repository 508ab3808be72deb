// Package control lets a person talk to a running session from another terminal:
// see what it does, allow what waits, run something in it, take its terminal over,
// end it. The session listens on an abstract socket by its id, and on a second one by
// its name. Such a socket belongs to a network namespace, so that nothing inside a
// sandbox can see it; no two sessions can have the same; and it is gone with the
// process that made it, however that ends.
//
// Whoever connects must be the same user in the same user and PID namespace; whoever
// listens is held to the same. What is left at risk: another program of the user's,
// outside of any sandbox, can do here what the user can.
package control

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
)

// Request is what a person wants.
type Request struct {
	Do   string        `json:"do"`             // status, inspect, sync, again, grant, revoke, tighten, publish, thaw, stop, exec, attach, detach, question, answer, leave
	Rule string        `json:"rule,omitempty"` // grant: a host rule; revoke: a host rule, an address or a port; tighten: a mode; publish: PORT or HOST:INSIDE
	For  time.Duration `json:"for,omitempty"`  // grant: 0 means the rest of the session; stop: until it is killed

	Argv [][]byte `json:"argv,omitempty"` // exec
	Env  [][]byte `json:"env,omitempty"`  // exec
	Dir  []byte   `json:"dir,omitempty"`  // exec
	TTY  uint8    `json:"tty,omitempty"`  // exec: bit n: descriptor n is a terminal
	Rows uint16   `json:"rows,omitempty"` // exec, attach: of the terminal
	Cols uint16   `json:"cols,omitempty"`

	Memory bool `json:"memory,omitempty"` // status: also what takes a look at every process
	Card   bool `json:"card,omitempty"`   // status: also all that --verbose tells at the start

	Asked  []string `json:"asked,omitempty"` // answer: the question that it is to
	Answer string   `json:"answer,omitempty"`

	Files []*os.File `json:"-"` // exec: what comes along, the handler's to close
}

// Status tells of a running session.
type Status struct {
	Session string    `json:"session"`
	Name    string    `json:"name,omitempty"`
	Agent   string    `json:"agent"`
	Dir     string    `json:"dir"`
	Mode    string    `json:"mode"` // of the network
	Started time.Time `json:"started"`
	Pending []Pending `json:"pending"`
	Others  []Others  `json:"others,omitempty"`
	Grants  []Grant   `json:"grants"`
	Revoked []string  `json:"revoked,omitempty"` // hosts and addresses that a person took back
	Began   string    `json:"began,omitempty"`   // the mode of the network at the start, where it is another now
	Servers []Server  `json:"servers"`
	// Published are ports of the host at which a server inside is reached, also where none
	// listens yet.
	Published []Server `json:"published,omitempty"`
	Wishes    []Wish   `json:"wishes,omitempty"`
	Tools     []string `json:"tools,omitempty"` // of the project, that are there now

	Rung     string          `json:"rung"`
	Less     string          `json:"less,omitempty"`    // what of it a person chose to have less of
	Program  *Program        `json:"program,omitempty"` // of others, below the agent
	Level    string          `json:"level"`             // of the ladder of postures
	Walls    []string        `json:"walls"`
	Of       int             `json:"of"` // how many walls there are
	View     string          `json:"view"`
	PID      int             `json:"pid"`              // of the supervisor
	Memory   int64           `json:"memory,omitempty"` // bytes, of the supervisor and everything inside
	Kept     bool            `json:"kept,omitempty"`
	Attached bool            `json:"attached,omitempty"`
	Frozen   bool            `json:"frozen,omitempty"`
	Cut      bool            `json:"cut,omitempty"`     // its link is lost, and it waits for another
	Stopped  bool            `json:"stopped,omitempty"` // it answers nobody: little else is known
	Denied   int             `json:"denied"`            // connections, uses and files
	Denial   *Denial         `json:"denial,omitempty"`  // the last
	Meter    json.RawMessage `json:"trifecta,omitempty"`
	Card     []Row           `json:"card,omitempty"`
}

// Row is one line that a person is told about a session. A row without a key belongs to the
// one before it.
type Row struct {
	Key  string `json:"key"`
	Text string `json:"text"`
	List bool   `json:"list,omitempty"` // words that may be set in several lines
	Said bool   `json:"-"`              // a start tells it in words of its own
}

// Program is one of others that runs below the agent. Its digest is known soon after the
// start.
type Program struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256,omitempty"`
}

// Denial is something that was refused.
type Denial struct {
	Time    time.Time `json:"time"`
	What    string    `json:"what"`
	Reason  string    `json:"reason"`
	Command string    `json:"command,omitempty"`
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
	Domain  string    `json:"domain"` // that somebody had to register
}

// Others are refusals of hosts that are not listed, because there are too many.
type Others struct {
	Domain  string    `json:"domain,omitempty"` // "": of domains of which no host is listed
	Refused int       `json:"refused"`
	Since   time.Time `json:"since"`
}

// Wish is what the agent asked a person for, in its own words.
type Wish struct {
	Kind   string    `json:"kind"` // host, read, write, env, tool
	What   string    `json:"what"`
	Reason string    `json:"reason"`
	Since  time.Time `json:"since"`
}

// Grant is a rule that was added while the session runs.
type Grant struct {
	Rule    string    `json:"rule"`
	Expires time.Time `json:"expires,omitzero"`
}

// Tightened is what became of a session that is to have less.
type Tightened struct {
	Mode    string   `json:"mode"`              // of the network, from now on
	Was     string   `json:"was"`               // before
	Revoked string   `json:"revoked,omitempty"` // what was taken back
	Stays   string   `json:"stays,omitempty"`   // what leads there all the same
	Grants  []string `json:"grants,omitempty"`  // that went with the mode
	Cut     int      `json:"cut"`               // connections
}

// Server listens inside.
type Server struct {
	Port      uint16 `json:"port"`
	Published uint16 `json:"published,omitempty"` // on the host's loopback
}

// Reply answers a request.
type Reply struct {
	Error     string          `json:"error,omitempty"`
	Errno     int             `json:"errno,omitempty"` // exec: why the command could not be started
	Status    *Status         `json:"status,omitempty"`
	Grant     *Grant          `json:"grant,omitempty"`
	Published *Server         `json:"published,omitempty"`
	Tightened *Tightened      `json:"tightened,omitempty"`
	Inspect   json.RawMessage `json:"inspect,omitempty"`
	Question  []string        `json:"question,omitempty"` // what is asked now; none: nothing
	Said      string          `json:"said,omitempty"`     // what became of an answer

	// Files go along with the answer and are closed after it.
	Files []*os.File `json:"-"`
	// Then has the connection after the answer, until it returns. It is called also
	// when who asked is gone.
	Then func(*Conn) `json:"-"`
}

// Handler answers requests.
type Handler func(Request) Reply

const (
	maxMessage = 64 << 10
	maxReply   = 4 << 20
	maxClients = 16
	// patience is for a machine that is slow: both sides answer at once, unless what was
	// asked for takes its time inside (see answers of package native).
	patience = 2 * time.Minute
)

func prefix() string { return "@ringfence/" + strconv.Itoa(os.Geteuid()) + "/" }

// Listen answers for a session, or for the name of one, until the listener is closed.
func Listen(session string, h Handler) (net.Listener, error) {
	return listen(session, h, patience)
}

func listen(session string, h Handler, patience time.Duration) (net.Listener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: prefix() + session, Net: "unix"})
	if errors.Is(err, unix.EADDRINUSE) {
		if c, err := dial(session); err == nil {
			defer c.Close()
			if ours(c.UnixConn) != nil {
				return nil, fault.New(fault.Refused, "choose another with --name", "another user of this machine has taken the name %q", session)
			}
		}
		return nil, fault.New(fault.Refused, "see `ringfence ps`", "a session %q is running already", session)
	}
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	go serve(l, h, patience)
	return l, nil
}

func serve(l *net.UnixListener, h Handler, patience time.Duration) {
	slots, mute := make(chan struct{}, maxClients), &mute{}
	for {
		c, err := l.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		mute.makeRoom(slots)
		c.SetDeadline(time.Now().Add(patience))
		mute.add(c)
		go func() {
			defer c.Close()
			conn := &Conn{UnixConn: c}
			var q Request
			err := ours(c)
			if err == nil {
				q.Files, err = conn.read(maxMessage, &q)
			}
			mute.remove(c)
			<-slots // what goes on for long must not keep others from asking
			if err != nil {
				closeAll(q.Files)
				conn.write(Reply{Error: err.Error()})
				return
			}
			if then := answer(conn, q, h); then != nil {
				c.SetDeadline(time.Time{})
				then(conn)
			}
		}()
	}
}

// answer answers one request and returns what follows, if anything does.
func answer(c *Conn, q Request, h Handler) (then func(*Conn)) {
	r := h(q)
	c.SetDeadline(time.Now().Add(patience)) // it may have taken its time
	err := c.write(r, r.Files...)
	closeAll(r.Files)
	if r.Then == nil {
		return nil
	}
	// What follows the answer waits until the answer has been read: a line and frames
	// would be read as one.
	if kind, _, rerr := c.Receive(); err != nil || rerr != nil || kind != ready {
		c.Close() // what was begun for who is gone ends by that
	}
	return r.Then
}

// Ask sends one request to a session.
func Ask(session string, q Request) (Reply, error) {
	c, err := dial(session)
	if err != nil {
		return Reply{}, err
	}
	defer c.Close()
	r, err := c.ask(q)
	closeAll(r.Files)
	return r, err
}

func dial(session string) (*Conn, error) {
	u, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: prefix() + session, Net: "unix"})
	if err != nil {
		return nil, fault.New(fault.Failed, "see `ringfence ps`", "no session %q is running", session)
	}
	return &Conn{UnixConn: u}, nil
}

// Call sends one request to a session, with the request's files, and keeps the
// connection for the frames that follow the answer.
func Call(session string, q Request) (Reply, *Conn, error) {
	c, err := dial(session)
	if err != nil {
		return Reply{}, nil, err
	}
	r, err := c.ask(q)
	if err == nil {
		err = c.Send(ready, nil)
	}
	if err != nil {
		c.Close()
		return Reply{}, nil, err
	}
	return r, c, nil
}

func (c *Conn) ask(q Request) (Reply, error) {
	c.SetDeadline(time.Now().Add(patience))
	if err := ours(c.UnixConn); err != nil {
		return Reply{}, err
	}
	if err := c.awake(q.Do); err != nil {
		return Reply{}, err
	}
	if err := c.write(q, q.Files...); err != nil {
		return Reply{}, err
	}
	var r Reply
	files, err := c.read(maxReply, &r)
	if err == nil && r.Errno != 0 {
		err = fmt.Errorf("%s%w", strings.TrimSuffix(r.Error, unix.Errno(r.Errno).Error()), unix.Errno(r.Errno))
	} else if err == nil && r.Error != "" {
		err = errors.New(r.Error)
	}
	if err != nil {
		closeAll(files)
		return Reply{}, err
	}
	r.Files = files
	return r, c.SetDeadline(time.Time{})
}

// Sessions lists the user's sessions that can be asked, by id.
func Sessions() ([]string, error) {
	b, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if _, id, ok := strings.Cut(strings.TrimSpace(line), " "+prefix()); ok && IsID(id) && !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}

// ErrStopped means that the job of the session was stopped, by Ctrl-Z or by its agent.
var ErrStopped = fault.New(fault.Failed, "bring it back with fg where it was started, or end it with ringfence stop", "the session is stopped and answers nobody")

// awake holds where the other side can answer. A session that is to end is continued
// for that: an agent that stops its own job must not be out of reach.
func (c *Conn) awake(do string) error {
	cred, err := peer(c.UnixConn)
	if err != nil {
		return err
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(int(cred.Pid)) + "/stat")
	if _, rest, _ := strings.Cut(string(b[bytes.LastIndexByte(b, ')')+1:]), " "); err != nil || !strings.HasPrefix(rest, "T") {
		return nil // who is gone does not answer, which is seen
	}
	if do != "stop" {
		return ErrStopped
	}
	return unix.Kill(int(cred.Pid), unix.SIGCONT)
}

// peer is the process at the other side.
func peer(c *net.UnixConn) (cred *unix.Ucred, err error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil, err
	}
	if ctl := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); ctl != nil {
		return nil, ctl
	}
	return cred, err
}

// ours holds for a peer that is the same user, in the same user and PID namespace.
func ours(c *net.UnixConn) error {
	cred, err := peer(c)
	if err != nil {
		return err
	}
	if int(cred.Uid) != os.Geteuid() || cred.Pid == 0 {
		return errors.New("the other side of the control socket is somebody else")
	}
	own, err := ownNamespaces()
	if err != nil {
		return err
	}
	for ns, mine := range own {
		theirs, err := os.Readlink("/proc/" + strconv.Itoa(int(cred.Pid)) + "/ns/" + ns)
		if err != nil || mine != theirs {
			return fmt.Errorf("the other side of the control socket is in another %s namespace", ns)
		}
	}
	return nil
}

// ownNamespaces are those that the other side must be in. We never leave ours.
var ownNamespaces = sync.OnceValues(func() (map[string]string, error) {
	own := map[string]string{}
	for _, ns := range []string{"user", "pid"} {
		name, err := os.Readlink("/proc/self/ns/" + ns)
		if err != nil {
			return nil, err
		}
		own[ns] = name
	}
	return own, nil
})

// IsID holds for what is made as the id of a session, and so can be no name.
func IsID(s string) bool {
	return len(s) == 10 && strings.Trim(s, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}
