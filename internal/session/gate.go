package session

import (
	"cmp"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/state"
)

// patience is how long a host that nobody knows waits for a person.
const patience = 30 * time.Second

// modeNone is the posture without a network.
const modeNone = "none"

// network decides what of the network is there.
func (b *Base) network() (err error) {
	if b.Reach, err = b.Policy.Reach(b.ownHosts()); err == nil {
		b.learnHosts()
	}
	return err
}

// ownHosts are those of the agent. A profile that is the user's own is under the
// ceiling as every other word of the user's.
func (b *Base) ownHosts() []string {
	if b.Profile.Source == agent.BuiltIn {
		return b.Profile.Network.Hosts
	}
	return slices.DeleteFunc(slices.Clone(b.Profile.Network.Hosts), func(h string) bool {
		over := b.bound(policy.Entry{Text: h}) != nil
		if over {
			b.said.notice("a host of the agent's profile is not allowed by " + Ceiling + ": " + h)
		}
		return over
	})
}

// prepareNetwork says how the network ends at the gate, and by which way that reaches
// the world.
func prepareNetwork(b Base) (out Contribution, err error) {
	if b.Reach.Mode == modeNone {
		return out, nil
	}
	if err := out.proxy(b); err != nil {
		return out, err
	}
	for _, p := range policy.Cautions(b.Policy) {
		out.notice(p.Source.String() + ": " + p.Text)
	}
	out.capture, err = netns.Make(b.Reach.HostPorts)
	return out, err
}

// proxy finds the upstream proxy that policy names. One that only stands in the
// environment is not used: where traffic goes is for policy to say.
func (c *Contribution) proxy(b Base) (err error) {
	env := func(name string) string { return cmp.Or(b.getenv(name), b.getenv(strings.ToLower(name))) }
	ambient := cmp.Or(env("HTTPS_PROXY"), env("ALL_PROXY"))
	switch b.Reach.Proxy {
	case policy.ProxyNone:
		if ambient != "" {
			c.notice("HTTPS_PROXY is set and not used; --proxy env goes through it")
		}
		return nil
	case policy.ProxyEnv:
		if ambient == "" {
			return fault.New(fault.Refused, "set HTTPS_PROXY, or leave the proxy out", "policy wants the proxy of the environment, and HTTPS_PROXY is not set")
		}
		if c.upstream, err = gate.ParseUpstream(ambient, env("NO_PROXY")); err != nil {
			return fault.New(fault.Refused, "", "HTTPS_PROXY: %w", err)
		}
		return nil
	}
	c.upstream, err = gate.ParseUpstream(b.Reach.Proxy, "") // NO_PROXY belongs to the environment's
	return err
}

// ProjectGrants is where rules for the project around dir are kept.
func ProjectGrants(dir string, environ []string) (string, error) {
	s, err := Look(Options{Dir: dir, Environ: environ, Flags: &policy.Policy{}, NoProject: true})
	if err != nil {
		return "", err
	}
	return s.dirs.GrantFile(s.projectRoot()), nil
}

// JournalDir is where the records of sessions lie.
func JournalDir(dirs state.Dirs) string { return filepath.Join(dirs.State, "journal") }

// door is the gate of a running session and what belongs to it on the host.
type door struct {
	session *Session
	live    *live
	gate    *gate.Gate
	ports   []*net.TCPListener // published, in the order of Reach.Publish
	marks   []int              // of what is published
	say     func(string)
}

// openDoor makes the gate of a session, still shut. It returns nil where the network
// is closed.
func (s *Session) openDoor(l *live) (*door, error) {
	if s.Plan.Capture == nil {
		return nil, nil
	}
	d := &door{session: s, live: l, say: l.Say}
	s.mcp.live = l
	conf := gate.Config{Session: s.ID, Reach: s.Reach, Bound: s.bound, Journal: l.book.Writer, Proxy: s.upstream, Resolve: s.resolver, Dial: s.dial}
	conf.Alarm = func(err error) { l.Say(err.Error() + ": connections are refused until it can") }
	if l.talk.Person {
		conf.Wait, conf.Ask = patience, d.tell
	}
	var err error
	if s.broker != nil {
		conf.Broker = s.broker
	}
	if s.lure != nil {
		conf.Decoys, conf.Caught = s.lure.needles, l.caught
	}
	if d.gate, err = gate.New(conf); err != nil {
		return nil, err
	}
	s.lesson.at(d.gate)
	if s.broker != nil {
		if err := s.openBroker(d.gate); err != nil {
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

// publish takes a port of the host's loopback, and marks it before.
func (d *door) publish(port uint16) (*net.TCPListener, error) {
	mark, err := markPort(port)
	if err != nil {
		return nil, err
	}
	d.marks = append(d.marks, mark)
	return net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(port)})
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
func (d *door) running(box rung.Sandbox) {
	for i, p := range d.session.Reach.Publish {
		d.gate.Publish(d.ports[i], p.Inside, box.Socket)
	}
	d.ports = nil // the gate's from here on
	d.gate.Watch(box.PID(), d.announce)
}

// announce tells of a server inside.
func (d *door) announce(port uint16) {
	for _, p := range d.session.Reach.Publish {
		if p.Inside == port {
			d.say(fmt.Sprintf("http://localhost:%d → inside:%d", p.Host, port))
			return
		}
	}
	d.say(fmt.Sprintf("a server inside listens on port %d; --publish %d would show it on the host's loopback", port, port))
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
	d.session.mcp.Close()
	for _, l := range d.ports {
		l.Close()
	}
	if d.session.broker != nil {
		d.session.broker.Close()
	}
	err := d.gate.Close()
	for _, mark := range d.marks { // last: nobody is connected any more
		unix.Close(mark)
	}
	d.marks = nil
	return err
}
