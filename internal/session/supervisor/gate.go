package supervisor

import (
	"fmt"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/lending"
	"ringfence.dev/ringfence/internal/session/toolbox"
)

// patience is how long a host that nobody knows waits for a person.
const patience = 30 * time.Second

// door is the gate of a running session and what belongs to it on the host.
type door struct {
	session *session.Session
	live    *live
	gate    *gate.Gate
	ports   []*net.TCPListener // published, in the order of Reach.Publish
	say     func(string)

	mu    sync.Mutex
	marks map[uint16]int // of what is published, by the port of the host
	later []policy.Port  // published since the launch
	gone  []uint16       // ports of the host of the launch that were taken back
}

// openDoor makes the gate of a session, still shut. It returns nil where the network
// is closed.
func openDoor(s *session.Session, l *live) (*door, error) {
	if s.Plan.Capture == nil {
		return nil, nil
	}
	d := &door{session: s, live: l, say: l.Say}
	l.mcp.live, l.mcp.Offered = l, s.Offered
	conf := gate.Config{Session: s.ID, Reach: s.Reach, Bound: s.Bound, Journal: l.book.Writer, Proxy: s.Upstream, Resolve: s.Resolver, Dial: s.Dial, Roots: s.Trust.Pool}
	if s.Mode() == launch.ModeNone { // nobody is at its way out, and there is none
		conf.Resolve, conf.Dial = &canaries{}, (&canaries{}).dial
	}
	conf.Alarm = func(err error) { l.Say(err.Error() + ": connections are refused until it can") }
	conf.Refused, conf.Suspect = l.Say, l.suspect
	ask := newAsker(l)
	if l.talk.Person {
		l.asks = ask
		conf.Wait, conf.Left = patience, ask.left
		conf.Ask = func(p gate.Pending) {
			d.tell(p)
			ask.ask(p)
		}
	} else {
		conf.Unasked = (&unasked{say: l.refused, session: s.ID}).tell
	}
	var err error
	if s.Broker != nil {
		conf.Broker = s.Broker
	}
	if s.Lure != nil {
		conf.Decoys, conf.Caught = s.Lure.Needles, l.caught
	}
	if d.gate, err = gate.New(conf); err != nil {
		return nil, err
	}
	ask.gate = d.gate
	s.LearnAt(d.gate)
	if s.Broker != nil {
		var own []broker.Site
		if l.mcp.Own || len(l.mcp.Started) > 0 {
			own = append(own, broker.Site{Prefix: "/mcp", Handler: l.mcp.handler(d.gate)})
		}
		if session.Tooled(s.Base) {
			own = append(own, broker.Site{Prefix: toolbox.Prefix, Handler: &toolDesk{live: l, gate: d.gate}})
		}
		if err := lending.Open(s.Broker, s.Brokered, d.gate, own...); err != nil {
			d.Close()
			return nil, err
		}
	}
	for _, p := range s.Reach.Publish {
		l, err := d.publish(p.Host)
		if err != nil {
			d.Close()
			return nil, fault.New(fault.Refused, "publish it as another port: --publish "+fmt.Sprintf("%d:%d", freePort(), p.Inside), "port %d of the host cannot be published (%s): %w", p.Host, p.Source.String(), err)
		}
		d.ports = append(d.ports, l)
	}
	return d, nil
}

// freePort is a suggestion for who has to choose another port.
func freePort() int {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 18080
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// running connects the published ports once the sandbox is there.
func (d *door) running() {
	for i, p := range d.session.Reach.Publish {
		d.gate.Publish(d.ports[i], p.Inside)
	}
	d.ports = nil // the gate's from here on
	if d.session.Mode() != launch.ModeNone {
		d.gate.Watch(d.announce)
	}
}

// announce tells of a server inside.
func (d *door) announce(port uint16) {
	for _, p := range d.shown() {
		if p.Inside == port {
			d.say(fmt.Sprintf("http://localhost:%d → inside:%d", p.Host, port))
			return
		}
	}
	d.say(fmt.Sprintf("a server inside listens on port %d; to open it here: ringfence publish %s %d", port, d.session.ID, port))
}

// tell asks a person about a host that waits. The command comes whole or not at all:
// one that is cut would allow something else.
func (d *door) tell(p gate.Pending) {
	text := fmt.Sprintf("waits: ringfence grant %s --host %s", d.session.ID, hostRule(p.Name, p.Port))
	if len(text) > maxNote {
		text = "a host with a long name waits: see ringfence requests"
	}
	if p.Command != "" && len(text)+len(p.Command)+20 < maxNote {
		text += fmt.Sprintf(" (%q, process %d)", p.Command, p.PID)
	}
	d.say(text)
}

// unasked tells of hosts that were refused because nobody is there to be asked: each once,
// and not more of them than a person reads.
type unasked struct {
	say     func(string)
	session string
	mu      sync.Mutex
	told    map[address.Name]bool
}

const maxUnasked = 8

func (u *unasked) tell(t address.Target) {
	u.mu.Lock()
	known, n := u.told[t.Name], len(u.told)
	if u.told == nil {
		u.told = map[address.Name]bool{}
	}
	if !known && n <= maxUnasked {
		u.told[t.Name] = true
	}
	u.mu.Unlock()
	switch {
	case known || n > maxUnasked:
	case n == maxUnasked:
		u.say("more hosts are refused: ringfence log " + u.session)
	default:
		u.say(fmt.Sprintf("refused: no rule allows %s; for the next time: --allow-host %s", t.Name, t.Name))
	}
}

// maxNote is what fits a notification.
const maxNote = 160

func hostRule(n address.Name, port uint16) string {
	if port == 443 || port == 80 {
		return string(n)
	}
	return fmt.Sprintf("%s:%d", n, port)
}

// Close shuts the gate and everything that belongs to it.
func (d *door) Close() error {
	if d == nil {
		return nil
	}
	d.live.mcp.Close()
	for _, l := range d.ports {
		l.Close()
	}
	if d.session.Broker != nil {
		d.session.Broker.Close()
	}
	err := d.gate.Close()
	for _, done := range d.session.Brokered.Done {
		if err := done(); err != nil {
			d.say(err.Error()) // the door has what is not ready
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, mark := range d.marks { // last: nobody is connected any more
		unix.Close(mark)
	}
	d.marks = nil
	return err
}
