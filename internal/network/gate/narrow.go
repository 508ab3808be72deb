package gate

import (
	"errors"
	"net"
	"net/netip"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
)

// ModeNone is the mode in which nothing is reached.
const ModeNone = "none"

// taken is a host that a person took back while the session runs.
type taken struct {
	entry policy.Entry
	word  int
}

// takenBack finds the last word that takes back what is asked for.
func (r *rules) takenBack(q Request) (last taken, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, t := range r.taken {
		if t.entry.Rule.Covers(q.Target.Name) && denies(t.entry.Rule, q) {
			last, ok = t, true
		}
	}
	return last, ok
}

func (r *rules) takenAddresses() []policy.Device {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.takenIP
}

// maxTaken bounds what a session remembers of it.
const maxTaken = 256

var errTaken = errors.New("too much was taken back already: ringfence tighten moves the session to a stricter mode")

// takeBack forgets the grants of a rule, and what is within it, and remembers that it is
// taken back.
func (r *rules) takeBack(e policy.Entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = slices.DeleteFunc(r.taken, func(t taken) bool { return t.entry.Rule.Within(e.Rule) })
	if len(r.taken) >= maxTaken {
		return errTaken
	}
	r.words++
	r.taken = append(r.taken, taken{e, r.words})
	r.grants = slices.DeleteFunc(r.grants, func(g grant) bool { return g.entry.Rule.Within(e.Rule) })
	return nil
}

// Allows reports whether any of what a rule speaks of can be reached now.
func (g *Gate) Allows(r address.Rule) bool {
	t := g.rules.at.Load()
	if policy.Wide(t.mode) || t.learns {
		return true
	}
	overlaps := func(e policy.Entry) bool {
		return e.Rule.Covers(r.Name) || r.Covers(e.Rule.Name) || r.Below && e.Rule.Below && r.Name == e.Rule.Name
	}
	if slices.ContainsFunc(g.rules.holding(), func(h grant) bool { return overlaps(h.entry) }) {
		return true
	}
	for _, list := range []map[address.Name][]policy.Entry{t.allow.exact, t.allow.below} {
		for _, entries := range list {
			if slices.ContainsFunc(entries, overlaps) {
				return true
			}
		}
	}
	return false
}

// TakeBack closes a host for the rest of the session, whatever allowed it, and cuts the
// connections to it. Only a later grant opens it again.
func (g *Gate) TakeBack(e policy.Entry) (cut int, err error) {
	if err := g.rules.takeBack(e); err != nil {
		return 0, err
	}
	return g.less(journal.Record{Event: journal.Revoke, Name: string(e.Rule.Name), Port: e.Rule.Port, Rule: e.Text, Source: e.Source.String()})
}

// TakeBackAddress closes an address for the rest of the session, whatever leads there.
func (g *Gate) TakeBackAddress(d policy.Device) (cut int, err error) {
	g.rules.mu.Lock()
	full := len(g.rules.takenIP) >= maxTaken
	if !full {
		g.rules.takenIP = append(slices.Clip(g.rules.takenIP), d)
	}
	g.rules.mu.Unlock()
	if full {
		return 0, errTaken
	}
	return g.less(journal.Record{Event: journal.Revoke, Addr: d.Prefix.Range.String(), Port: d.Prefix.Port, Rule: d.Text, Source: d.Source.String()})
}

// Narrow holds the gate to another reach from now on, which the caller knows to be narrower.
// Where grants is not set, what a person granted before is gone with the old one. It is done
// also where it cannot be recorded: then it says so.
func (g *Gate) Narrow(r policy.Reach, grants bool, as journal.Record) (cut int, err error) {
	t := newTable(r)
	g.rules.mu.Lock() // a grant is judged by the old table and gone with it, or by the new one
	g.rules.at.Store(t)
	if !grants {
		g.rules.grants = nil
	}
	g.rules.mu.Unlock()
	return g.less(as)
}

// Unpublish takes a port of the host away from who connects there.
func (g *Gate) Unpublish(host, inside uint16, source string) (cut int, err error) {
	g.mu.Lock()
	l := g.published[host]
	delete(g.published, host)
	g.mu.Unlock()
	if l != nil {
		l.Close()
	}
	return g.less(journal.Record{Event: journal.Revoke, Via: "publish", Port: inside, Rule: "publish " + portText(host), Source: source})
}

// shows reports whether a port of the host is published.
func (g *Gate) shows(host uint16) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.published[host] != nil
}

// less cuts what is allowed no more, and writes down that it is.
func (g *Gate) less(as journal.Record) (cut int, err error) {
	cut = g.open.sweep(func(to netip.AddrPort) bool {
		if !to.IsValid() {
			return false
		}
		_, denied := g.rules.deniedAddress(to.Addr(), to.Port())
		return denied
	})
	g.advice.forget()
	g.asks.look()
	as.Count = cut
	return cut, g.records.write(as)
}

// look lets those who wait for a person look at the rules again.
func (a *asking) look() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wake()
}

// Mode is the mode that the gate is in now.
func (g *Gate) Mode() string { return g.rules.at.Load().mode }

// Direct holds a connection that the broker made to a host that the user named, whatever the
// rules allow. It is cut where a rule comes to deny it, or none is to be reached any more.
// locked says whether it stays in mode locked. Without a connection it only answers.
func (g *Gate) Direct(c net.Conn, t address.Target, locked bool) (net.Conn, error) {
	state := g.open.state()
	fits := func() bool {
		mode := g.Mode()
		return mode != ModeNone && (mode != "locked" || locked) && !g.Denies(t)
	}
	why := &address.Unreached{Reason: "the session may not reach it any more"}
	if !fits() {
		if c != nil {
			reset(c)
		}
		return nil, why
	}
	if c == nil {
		return nil, nil
	}
	var to netip.AddrPort
	if at, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		to = at.AddrPort()
	}
	if held := g.lent(state, c, to, fits); held != nil {
		return held, nil
	}
	return nil, why
}

// Taken lists the hosts and addresses that a person took back, but for those that he granted
// again.
func (g *Gate) Taken() (hosts []policy.Entry, addresses []policy.Device) {
	g.rules.mu.RLock()
	defer g.rules.mu.RUnlock()
	for _, t := range g.rules.taken {
		again := func(h grant) bool { return h.word > t.word && g.rules.holds(h) && t.entry.Rule.Within(h.entry.Rule) }
		if !slices.ContainsFunc(g.rules.grants, again) {
			hosts = append(hosts, t.entry)
		}
	}
	return hosts, slices.Clone(g.rules.takenIP)
}
