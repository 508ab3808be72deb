package supervisor

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session"
	"ringfence.dev/ringfence/internal/session/control"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Less is what a running session is to have less of: a stricter mode of the network, or one
// thing that is taken back.
type Less struct {
	Mode   string // of the network
	Alone  bool   // with Mode: nothing is left in it but the model, not even what a rule allows
	Revoke string // a host rule, an address or range, or a port of the host
	By     string // who wants it: a command, or a part of ringfence
	Why    string // for the journal; may be empty
}

// errUnrecorded is of something that was taken all the same.
var errUnrecorded = errors.New("done, and not recorded")

// lessened is the session as it is since something was taken from it.
type lessened struct {
	one   sync.Mutex                  // at a time
	base  atomic.Pointer[launch.Base] // nil: as it was begun
	ports []uint16                    // of the host's loopback, that were taken back
	aside beside                      // what is done for it on the host
}

// Tighten takes something from a running session, for good: connections that need it are cut,
// the journal has it, and the agent's note is renewed. It never gives anything: a mode that is
// no stricter is refused. It may be called by any part of ringfence; nothing inside can.
func (l *live) Tighten(less Less) (control.Tightened, error) {
	l.less.one.Lock()
	defer l.less.one.Unlock()
	was := l.current().Mode()
	out := control.Tightened{Mode: was, Was: was}
	if l.gate == nil || was == launch.ModeNone {
		return out, errors.New("the session has no network at all: there is nothing to take away")
	}
	select {
	case <-l.ended:
		return out, errors.New("the session has ended")
	case <-l.began:
	default:
		return out, errors.New("the session has not begun yet")
	}
	var err error
	if less.Mode != "" {
		err = l.tighten(less, &out)
	} else {
		err = l.revoke(less, &out)
	}
	if err != nil {
		return out, err
	}
	l.tellLess(less, out)
	return out, nil
}

// tellLess tells the person and the agent.
func (l *live) tellLess(less Less, out control.Tightened) {
	text := "taken back: " + out.Revoked
	if less.Mode != "" {
		text = fmt.Sprintf("network %s, it was %s", out.Mode, out.Was)
	}
	if out.Cut > 0 {
		text += fmt.Sprintf("; %d cut", out.Cut)
	}
	l.Say(text + " (" + less.By + ")")
	l.renewNote()
	if err := l.tellStatus(); err != nil {
		l.Say(fmt.Sprintf("the state of the session cannot be renewed: %v", err))
	}
}

// tighten moves the session to a stricter mode.
func (l *live) tighten(less Less, out *control.Tightened) error {
	if err := policy.Stricter(out.Was, less.Mode); err != nil && !(less.Alone && out.Was == less.Mode) {
		return err
	}
	base, err := l.session.Base.Narrowed(less.Mode, l.session.Brokered)
	if err != nil {
		return err
	}
	base.Reach.HostPorts = l.left(base.Reach.HostPorts)
	if less.Alone {
		base.Reach = alone(base.Reach)
	}
	for _, g := range l.gate.Grants() {
		out.Grants = append(out.Grants, g.Rule)
	}
	l.less.base.Store(&base)
	out.Mode = less.Mode
	shut := less.Alone || less.Mode == launch.ModeNone
	if shut {
		l.less.aside.end()
		l.mcp.shutDown()
	}
	rec := journal.Record{Event: journal.Tighten, Mode: less.Mode, State: out.Was, Source: less.By, Reason: less.Why}
	if out.Cut, err = l.gate.Narrow(base.Reach, false, rec); err != nil {
		err = fmt.Errorf("%w: %w", errUnrecorded, err)
	}
	if shut {
		for _, p := range l.shown() {
			cut, lost := l.unpublish(p, less.By)
			out.Cut, err = out.Cut+cut, errors.Join(err, lost)
		}
	}
	return err
}

// alone is a reach with nothing in it but what the broker speaks to.
func alone(r policy.Reach) policy.Reach {
	r.Allow = slices.DeleteFunc(slices.Clone(r.Allow), func(e policy.Entry) bool { return e.Source.File != launch.BrokerSource })
	r.IP, r.HostPorts = nil, nil
	return r
}

// revoke takes one thing back.
func (l *live) revoke(less Less, out *control.Tightened) (err error) {
	source := policy.Source{File: less.By}
	if port, perr := address.ParsePort(less.Revoke); perr == nil {
		out.Revoked = "port " + less.Revoke
		out.Cut, err = l.revokePort(port, less.By)
		return err
	}
	if address.Numeric(less.Revoke) {
		prefix, perr := address.ParseDenied(less.Revoke)
		if perr != nil {
			return perr
		}
		out.Revoked = less.Revoke
		out.Cut, err = l.gate.TakeBackAddress(policy.Device{Prefix: prefix, Text: less.Revoke, Source: source})
		return err
	}
	rule, err := address.ParseRule(less.Revoke)
	if err != nil {
		return err
	}
	if !l.gate.Allows(rule) {
		return fmt.Errorf("nothing allows %s: see ringfence status %s", rule, l.session.ID)
	}
	if out.Revoked = rule.String(); out.Mode == "open" {
		out.Stays = "by address it stays open (mode open): revoke that too, or tighten"
	}
	out.Cut, err = l.gate.TakeBack(policy.Entry{Rule: rule, Text: rule.String(), Source: source})
	return err
}

// revokePort takes back a port of the host: one at which a server inside is reached, or one
// that the session reaches.
func (l *live) revokePort(port uint16, by string) (int, error) {
	for _, p := range l.shown() {
		if p.Host == port {
			return l.unpublish(p, by)
		}
	}
	if !slices.Contains(l.current().Reach.HostPorts, port) {
		return 0, fmt.Errorf("port %d of the host is neither published nor open to the session", port)
	}
	l.less.ports = append(l.less.ports, port)
	base := l.session.Base
	if less := l.less.base.Load(); less != nil {
		base = *less
	}
	base.Reach.HostPorts = l.left(base.Reach.HostPorts)
	l.less.base.Store(&base)
	return l.gate.Narrow(base.Reach, true, journal.Record{Event: journal.Revoke, Via: "host-port", Port: port, Rule: fmt.Sprintf("host-port %d", port), Source: by})
}

// left are the ports of the host that were not taken back.
func (l *live) left(ports []uint16) []uint16 {
	return slices.DeleteFunc(slices.Clone(ports), func(p uint16) bool { return slices.Contains(l.less.ports, p) })
}

func (l *live) unpublish(p policy.Port, by string) (int, error) {
	d := l.door
	d.mu.Lock()
	d.gone = append(d.gone, p.Host)
	d.later = slices.DeleteFunc(d.later, func(o policy.Port) bool { return o.Host == p.Host })
	d.mu.Unlock()
	cut, err := l.gate.Unpublish(p.Host, p.Inside, by)
	d.mu.Lock()
	defer d.mu.Unlock()
	if mark, ok := d.marks[p.Host]; ok { // last: nobody is connected any more
		unix.Close(mark)
		delete(d.marks, p.Host)
	}
	return cut, err
}

// current is the session as it is now: as it was begun, without what was taken from it.
func (l *live) current() *session.Session {
	if l.gate == nil {
		return l.session
	}
	hosts, addresses := l.gate.Taken()
	base := l.less.base.Load()
	if base == nil && len(hosts) == 0 && len(addresses) == 0 {
		return l.session
	}
	s := *l.session
	if base != nil {
		s.Base = *base
	}
	s.Reach = withoutTaken(s.Reach, hosts, addresses)
	return &s
}

// withoutTaken is a reach as people and the agent are told of it.
func withoutTaken(r policy.Reach, hosts []policy.Entry, addresses []policy.Device) policy.Reach {
	within := func(e policy.Entry) bool {
		return slices.ContainsFunc(hosts, func(t policy.Entry) bool { return e.Rule.Within(t.Rule) })
	}
	r.Allow = slices.DeleteFunc(slices.Clone(r.Allow), within)
	r.IP = slices.DeleteFunc(slices.Clone(r.IP), func(d policy.Device) bool {
		return slices.ContainsFunc(addresses, func(t policy.Device) bool {
			return (t.Prefix.Port == 0 || t.Prefix.Port == d.Prefix.Port) && t.Prefix.Range.Bits() <= d.Prefix.Range.Bits() && t.Prefix.Range.Contains(d.Prefix.Range.Addr())
		})
	})
	r.Deny = append(slices.Clone(r.Deny), hosts...)
	r.DenyIP = append(slices.Clone(r.DenyIP), addresses...)
	return r
}

func tightened(t control.Tightened, err error) control.Reply {
	if err != nil {
		return control.Reply{Error: err.Error()}
	}
	return control.Reply{Tightened: &t}
}
