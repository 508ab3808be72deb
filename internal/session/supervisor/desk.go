package supervisor

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/session/control"
)

// desk is where a person asks a running session, by its id or by its name.
type desk struct {
	live    *live
	started time.Time
	doors   []net.Listener
}

func (l *live) openDesk() (*desk, error) {
	d := &desk{live: l, started: time.Now()}
	for _, name := range []string{l.session.ID, l.session.Name} {
		if name == "" {
			continue
		}
		door, err := control.Listen(name, d.handle)
		if err != nil {
			d.Close()
			return nil, err
		}
		d.doors = append(d.doors, door)
	}
	return d, nil
}

// socket is the name of the control socket, without the NUL.
func (d *desk) socket() string { return strings.TrimPrefix(d.doors[0].Addr().String(), "@") }

// Close answers nobody any more. Who is being answered hears the end.
func (d *desk) Close() {
	for _, door := range d.doors {
		door.Close()
	}
}

func (d *desk) handle(q control.Request) control.Reply {
	for i, f := range q.Files {
		if q.Do != "exec" || i > 2 {
			f.Close()
		}
	}
	l := d.live
	switch q.Do {
	case "status":
		return control.Reply{Status: d.status(q)}
	case "inspect":
		return d.inspect()
	case "again":
		return reply(l.again())
	case "sync":
		return reply(l.sync())
	case "grant":
		e, err := l.grant(q)
		if err != nil {
			return control.Reply{Error: err.Error()}
		}
		l.renewNote()
		return control.Reply{Grant: &e}
	case "revoke":
		return tightened(l.Tighten(Less{Revoke: q.Rule, By: "ringfence revoke"}))
	case "tighten":
		return tightened(l.Tighten(Less{Mode: q.Rule, By: "ringfence tighten"}))
	case "publish":
		srv, err := l.publish(q.Rule)
		if err != nil {
			return control.Reply{Error: err.Error()}
		}
		l.renewNote()
		return control.Reply{Published: &srv}
	case "thaw":
		return reply(l.thaw())
	case "stop":
		return l.stop(q.For)
	case "exec":
		return l.exec(q)
	case "attach":
		return l.attach(q)
	case "question", "answer", "leave":
		return l.answer(q)
	case "detach":
		if t := l.talk.Terminal; t == nil || !t.Detach() {
			return control.Reply{Error: "nobody is attached"}
		}
		return control.Reply{}
	}
	return control.Reply{Error: fmt.Sprintf("%q is not known here", q.Do)}
}

// answer is about the question at the session's terminal, for a person who is elsewhere.
func (l *live) answer(q control.Request) control.Reply {
	switch {
	case l.asks == nil || l.relay == nil:
		return control.Reply{Error: "the session has no terminal at which it asks; ringfence grant allows a host"}
	case q.Do == "answer":
		return l.asks.answered(q)
	case q.Do == "leave":
		return l.asks.unwanted()
	}
	return l.asks.question()
}

func reply(err error) control.Reply {
	if err != nil {
		return control.Reply{Error: err.Error()}
	}
	return control.Reply{}
}

// sync brings what the agent changed to where it is reviewed.
func (l *live) sync() error {
	select {
	case <-l.ended:
		return nil // it is brought over for the last time
	case <-l.began:
		return l.box.Sync()
	default:
		return nil
	}
}

// again tries to take up a link that was lost.
func (l *live) again() error {
	select {
	case <-l.began:
	default:
		return nil
	}
	if box, ok := l.box.(interface{ Again() error }); ok {
		return box.Again()
	}
	return nil
}

func (l *live) grant(q control.Request) (control.Grant, error) {
	r, err := address.ParseRule(q.Rule)
	if err != nil {
		return control.Grant{}, err
	}
	if q.For < 0 {
		return control.Grant{}, errors.New("a grant cannot end before it begins")
	}
	if l.gate == nil {
		return control.Grant{}, errors.New("the session has no network at all: start it without --net none")
	}
	out := control.Grant{Rule: r.String()}
	if q.For > 0 {
		out.Expires = time.Now().Add(q.For).Round(0) // by the clock on the wall: a laptop that sleeps lets it pass
	}
	return out, l.gate.Grant(policy.Entry{Rule: r, Text: r.String(), Source: policy.Source{File: "ringfence grant"}}, out.Expires)
}

func (d *desk) status(q control.Request) *control.Status {
	s, l := d.live.current(), d.live
	out := &control.Status{Session: s.ID, Name: s.Name, Agent: s.Profile.Title, Dir: s.Workspaces[0].Path, Mode: s.Mode(), Started: d.started,
		Rung: s.Rung.Name(), Less: s.Rung.Offer().Less, Level: s.Rung.Offer().Level, Of: len(plan.AllWalls()), View: s.View(s.Workspaces[0]), PID: os.Getpid(),
		Kept: l.talk.Terminal != nil, Attached: l.talk.Terminal != nil && l.talk.Terminal.Attached(), Frozen: l.frozen.Load()}
	out.Meter, _ = json.Marshal(l.exposed(s.Trifecta()))
	for _, w := range s.Plan.Walls {
		out.Walls = append(out.Walls, string(w))
	}
	out.Denied, out.Denial = l.denials.last()
	out.Wishes, out.Tools = l.mcp.wish.list(), s.Tools()
	select {
	case <-l.began:
		out.Cut = l.cut()
		out.Program = l.below.Load()
		if q.Memory {
			out.Memory = memoryOf(os.Getpid())
		}
	default:
	}
	if q.Card {
		out.Card = s.Card(l.limits).Rows
	}
	if l.gate != nil {
		d.network(out)
	}
	return out
}

// network adds what the gate knows.
func (d *desk) network(out *control.Status) {
	g := d.live.gate
	for _, p := range g.Pending() {
		out.Pending = append(out.Pending, control.Pending{Host: string(p.Name), Port: p.Port, PID: p.PID, Command: p.Command, Since: p.Since, Waiting: p.Waiting, Refused: p.Refused, Domain: string(p.Domain)})
	}
	for _, o := range g.Others() {
		out.Others = append(out.Others, control.Others{Domain: string(o.Domain), Refused: o.Refused, Since: o.Since})
	}
	for _, e := range g.Grants() {
		out.Grants = append(out.Grants, control.Grant{Rule: e.Rule, Expires: e.Expires})
	}
	hosts, addresses := g.Taken()
	for _, e := range hosts {
		out.Revoked = append(out.Revoked, e.Text)
	}
	for _, a := range addresses {
		out.Revoked = append(out.Revoked, a.Text)
	}
	if was := d.live.session.Mode(); was != out.Mode {
		out.Began = was
	}
	shown := d.live.shown()
	for _, p := range shown {
		out.Published = append(out.Published, control.Server{Port: p.Inside, Published: p.Host})
	}
	for _, port := range g.Servers() {
		srv := control.Server{Port: port}
		for _, p := range shown {
			if p.Inside == port {
				srv.Published = p.Host
			}
		}
		out.Servers = append(out.Servers, srv)
	}
}

// inspect tells everything that was decided, without the values of secrets.
func (d *desk) inspect() control.Reply {
	s := d.live.current()
	b, err := json.Marshal(map[string]any{
		"status": d.status(control.Request{Memory: true, Card: true}), "plan": s.Plan.Redacted(), "env": s.Env.Entries, "keys": s.Keys, "masked": s.Trees.Masked(),
		"warnings": s.Warnings, "notices": s.Notices, "workspaces": s.Workspaces, "state": s.Work.Dir(),
	})
	if err != nil {
		return control.Reply{Error: err.Error()}
	}
	return control.Reply{Inspect: b}
}

// attach lets a person have the terminal.
func (l *live) attach(q control.Request) control.Reply {
	t := l.talk.Terminal
	if t == nil {
		return control.Reply{Error: fmt.Sprintf("the session belongs to the terminal it was started in (process %d); one started with --keep or -d can be attached; ringfence exec %s -- sh opens a shell in this one", os.Getpid(), l.session.ID)}
	}
	return control.Reply{Then: func(c *control.Conn) { t.Attach(c, q.Rows, q.Cols) }}
}

// exec runs a command beside the agent for a person. It ends with the connection.
func (l *live) exec(q control.Request) control.Reply {
	if len(q.Files) != 3 || len(q.Argv) == 0 {
		return control.Reply{Error: "exec needs a command and three descriptors"}
	}
	defer func() {
		for _, f := range q.Files {
			f.Close()
		}
	}()
	select {
	case <-l.began:
	default:
		return control.Reply{Error: "the session has not begun yet"}
	}
	if l.frozen.Load() {
		return control.Reply{Error: "the session is frozen: ringfence thaw " + l.session.ID}
	}
	cmd := rung.Command{Dir: string(q.Dir), TTY: q.TTY & 7, Rows: q.Rows, Cols: q.Cols, Files: [3]*os.File(q.Files)}
	for _, a := range q.Argv {
		cmd.Argv = append(cmd.Argv, string(a))
	}
	for _, e := range q.Env {
		cmd.Env = append(cmd.Env, string(e))
	}
	p, err := l.box.Exec(cmd)
	if err != nil {
		var errno syscall.Errno
		errors.As(err, &errno)
		return control.Reply{Error: err.Error(), Errno: int(errno)}
	}
	l.Record(journal.Record{Kind: journal.Work, Event: journal.Exec, Name: cmd.Argv[0], Count: len(cmd.Argv)})
	r := control.Reply{Then: func(c *control.Conn) { follow(c, p) }}
	if t := p.Terminal(); t != nil {
		r.Files = []*os.File{t}
	}
	return r
}

// follow passes signals on and tells the end. A person who goes away takes the
// command with him. Who was told the end hears, while he brings away what the command
// printed, when the session ends too.
func follow(c *control.Conn, p rung.Process) {
	ended, left := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(left)
		for {
			kind, body, err := c.Receive()
			if err != nil {
				break
			}
			if kind == control.Signal && len(body) == 1 {
				p.Signal(syscall.Signal(body[0]))
			}
			if rows, cols, ok := control.WindowOf(body); ok && kind == control.Window {
				p.Resize(rows, cols)
			}
		}
		select {
		case <-ended:
			return
		default:
		}
		p.Signal(syscall.SIGHUP)
		select {
		case <-ended:
		case <-time.After(hangupGrace):
			p.Signal(syscall.SIGKILL)
		}
	}()
	exit := p.Wait()
	close(ended)
	c.SendStatus(exit.Code())
	<-left
}

// memoryOf adds up what a process takes, and those below it: what each has for itself,
// and its share of what several have.
func memoryOf(pid int) (sum int64) {
	list, _ := sys.Below(pid)
	for _, p := range append(list, sys.Process{PID: pid}) {
		sum += share(p.PID)
	}
	return sum
}

func share(pid int) int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}
