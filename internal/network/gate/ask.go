package gate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
)

// Pending is a target that waits for a person, or was refused for want of one.
type Pending struct {
	Name    address.Name `json:"name"`
	Port    uint16       `json:"port"` // 0: only the name was asked for
	PID     int          `json:"pid,omitempty"`
	Command string       `json:"command,omitempty"`
	Since   time.Time    `json:"since"`
	Waiting int          `json:"waiting"` // connections that wait now
	Refused int          `json:"refused"` // that gave up waiting
	Domain  address.Name `json:"domain"`  // whose it is

	no bool // a person said no: nobody waits any longer
}

// Target is what is wanted.
func (p Pending) Target() address.Target { return address.Target{Name: p.Name, Port: p.Port} }

// Others are targets that are not listed because there are too many.
type Others struct {
	Domain  address.Name `json:"domain,omitempty"` // "": of domains of which none is listed
	Refused int          `json:"refused"`
	Since   time.Time    `json:"since"`
}

// asking is what nobody has decided yet.
type asking struct {
	wait    time.Duration // how long a connection waits; 0: nobody is there
	mu      sync.Mutex
	changed chan struct{} // closed and made anew at every grant
	open    map[address.Target]*Pending
	each    map[address.Name]int     // listed targets by domain
	others  map[address.Name]*Others // not more than there are domains in each, and one
	waiting int
	unasked func(address.Target)
}

const (
	maxPending     = 512 // targets; the first that were wanted
	maxOfDomain    = 16  // of one domain: its owner has as many names as he likes
	maxWaitingEach = 8   // connections to one target
)

func (a *asking) init(wait time.Duration) {
	a.wait = wait
	a.each, a.others = map[address.Name]int{}, map[address.Name]*Others{}
	a.changed, a.open = make(chan struct{}), map[address.Target]*Pending{}
}

// waitable: a person is there, and the name could be one of the public network.
func (a *asking) waitable(n address.Name) bool {
	if a.wait == 0 || n == "" || n.Single() {
		return false
	}
	if _, special := n.Special(); special {
		return false
	}
	return !a.tired(n)
}

// tired holds for a name that nobody cared about before.
func (a *asking) tired(n address.Name) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for t, p := range a.open {
		if t.Name == n && p.Refused > 0 && p.Waiting == 0 {
			return true
		}
	}
	return false
}

// wait holds a call until a person has decided. A target that nobody cared about
// once is not waited for again: an agent that tries it a hundred times would hang a
// hundred times.
func (k *call) wait() (granted bool) {
	g := k.g
	p, changed, ok := g.asks.enter(k.target)
	if !ok {
		return false
	}
	k.owner = g.owners.ask(k.client, k.to, true)
	k.owner.wait()
	told := g.asks.describe(p, k.owner)
	defer g.left(p)
	if err := k.record(journal.Request, journal.Wait, ""); err != nil {
		g.asks.leave(p, false)
		return false
	}
	if g.conf.Ask != nil && told.Waiting == 1 {
		g.conf.Ask(told)
	}
	timer := time.NewTimer(g.asks.wait)
	defer timer.Stop()
	look := time.NewTicker(seekAgain)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if k.owner = g.owners.unlessKnown(k); g.asks.describe(p, k.owner).PID != 0 {
				look.Stop()
			}
		case <-changed:
			if g.asks.turnedDown(p) {
				g.asks.leave(p, false)
				return false
			}
			switch g.rules.Decide(Request{Target: k.target}).Verdict {
			case Allow:
				g.asks.leave(p, true)
				return true
			case Deny: // it was taken back, or the network was
				g.asks.leave(p, false)
				return false
			}
			changed = g.asks.next()
		case <-timer.C:
			g.asks.leave(p, false)
			return false
		case <-g.ctx.Done():
			g.asks.leave(p, false)
			return false
		}
	}
}

// left tells that nobody waits for a target any more.
func (g *Gate) left(p *Pending) {
	g.asks.mu.Lock()
	over := p.Waiting == 0
	g.asks.mu.Unlock()
	if over && g.conf.Left != nil {
		g.conf.Left(p.Target())
	}
}

func (a *asking) enter(t address.Target) (*Pending, chan struct{}, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.open[t]
	if a.waiting >= maxWaiting || p != nil && p.Waiting >= maxWaitingEach {
		return nil, nil, false
	}
	// What waits is bounded by itself: a person is asked also where a flood of what was
	// refused has filled the list.
	if p == nil {
		p = a.add(t)
	}
	p.Waiting++
	a.waiting++
	return p, a.changed, true
}

func (a *asking) add(t address.Target) *Pending {
	p := &Pending{Name: t.Name, Port: t.Port, Since: time.Now(), Domain: t.Name.Registrable()}
	a.open[t] = p
	a.each[p.Domain]++
	return p
}

func (a *asking) remove(t address.Target) {
	p := a.open[t]
	if p == nil {
		return
	}
	delete(a.open, t)
	if a.each[p.Domain]--; a.each[p.Domain] <= 0 {
		delete(a.each, p.Domain)
		if o := a.others[p.Domain]; o != nil { // keeps its count, among those of no domain
			delete(a.others, p.Domain)
			a.uncounted(o.Refused, o.Since)
		}
	}
}

// full holds where one more target of a domain cannot be listed. Those that were first
// stay: an agent that asks for many names cannot make one forgotten by that.
func (a *asking) full(domain address.Name) bool {
	return len(a.open) >= maxPending || a.each[domain] >= maxOfDomain
}

// overflow counts what is not listed.
func (a *asking) overflow(domain address.Name) {
	if a.each[domain] == 0 {
		a.uncounted(1, time.Now())
		return
	}
	o := a.others[domain]
	if o == nil {
		o = &Others{Domain: domain, Since: time.Now()}
		a.others[domain] = o
	}
	o.Refused++
}

// uncounted counts what is of no domain that is listed.
func (a *asking) uncounted(n int, since time.Time) {
	o := a.others[""]
	if o == nil {
		o = &Others{Since: since}
		a.others[""] = o
	}
	o.Refused += n
}

// note remembers what was refused without waiting, for who looks later.
func (a *asking) note(t address.Target) {
	if a.unasked != nil {
		a.unasked(t)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.open[t]
	if p == nil {
		if domain := t.Name.Registrable(); a.full(domain) {
			a.overflow(domain)
			return
		}
		p = a.add(t)
	}
	p.Refused++
}

func (a *asking) describe(p *Pending, o *owner) Pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	if pid, command := o.known(); pid != 0 {
		p.PID, p.Command = pid, command
	}
	return *p
}

func (a *asking) leave(p *Pending, granted bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting--
	p.Waiting--
	if !granted && p.Refused == 0 {
		p.Refused = 1
	}
	t := p.Target()
	if p.Waiting == 0 && a.open[t] == p && (len(a.open) > maxPending || a.each[p.Domain] > maxOfDomain) {
		a.overflow(p.Domain) // it was listed beyond the bound while it waited
		a.remove(t)
	}
}

func (a *asking) next() chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changed
}

// Pending lists what waits or was refused, the oldest first.
func (g *Gate) Pending() []Pending {
	g.asks.mu.Lock()
	defer g.asks.mu.Unlock()
	var out []Pending
	for _, p := range g.asks.open {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(x, y Pending) int { return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Name, y.Name)) })
	return out
}

// Others lists what was refused and is not listed, by domain.
func (g *Gate) Others() []Others {
	g.asks.mu.Lock()
	defer g.asks.mu.Unlock()
	var out []Others
	for _, o := range g.asks.others {
		out = append(out, *o)
	}
	slices.SortFunc(out, func(x, y Others) int { return cmp.Or(x.Since.Compare(y.Since), cmp.Compare(x.Domain, y.Domain)) })
	return out
}

// Granted is a rule that was added, and until when it holds.
type Granted struct {
	Rule    string    `json:"rule"`
	Expires time.Time `json:"expires,omitzero"`
}

// Grant adds a rule for the rest of the session, or until it expires. Rules that
// deny still beat it.
func (g *Gate) Grant(e policy.Entry, expires time.Time) error {
	return g.grant(grant{entry: e, expires: expires}, until(expires))
}

// onceFor is how long "once" lasts: a program seldom needs only one connection to do one
// thing.
const onceFor = time.Minute

// GrantOnce lets connections begin for a moment. Those that have begun go on.
func (g *Gate) GrantOnce(e policy.Entry) error {
	return g.grant(grant{entry: e, expires: time.Now().Add(onceFor).Round(0), once: true}, "once: connections that begin within a minute")
}

func (g *Gate) grant(add grant, how string) error {
	e, judged := add.entry, g.rules.at.Load()
	if judged.mode == ModeNone {
		return errors.New("the session has no network any more, and no grant brings it back")
	}
	if d, denied := g.rules.forbids(e.Rule); denied {
		return fmt.Errorf("a rule denies it, which no grant opens: %s (%s)", d.Rule, d.Source)
	}
	if g.conf.Bound != nil {
		if err := g.conf.Bound(e); err != nil {
			return err
		}
	}
	r := journal.Record{Event: journal.Grant, Verdict: journal.Allow, Name: string(e.Rule.Name), Port: e.Rule.Port, Rule: e.Text, Source: e.Source.String(), Reason: how}
	if err := g.records.write(r); err != nil {
		return err
	}
	if !g.rules.grantIn(judged, add) {
		r.Verdict, r.Reason = journal.Deny, "something was taken from the session at the same moment"
		return errors.Join(errors.New(r.Reason+": look at ringfence status, and grant it again"), g.records.write(r))
	}
	g.advice.forget()
	g.asks.granted(e.Rule)
	return nil
}

// Refuse ends the wait of those who want a target: a person said no, or nobody is to be
// asked.
func (g *Gate) Refuse(t address.Target) {
	a := &g.asks
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.open[t]; p != nil && p.Waiting > 0 {
		p.no = true
		a.wake()
	}
}

// turnedDown reports whether a person said no.
func (a *asking) turnedDown(p *Pending) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return p.no
}

// wake lets those who wait look again; mu is held.
func (a *asking) wake() {
	close(a.changed)
	a.changed = make(chan struct{})
}

// granted wakes the calls that wait, and forgets the targets that a rule allows.
func (a *asking) granted(r address.Rule) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wake()
	for t := range a.open {
		if _, on := r.On(t.Port); (on || t.Port == 0) && r.Covers(t.Name) {
			a.remove(t)
		}
	}
}

func until(t time.Time) string {
	if t.IsZero() {
		return "for this session"
	}
	return "until " + t.UTC().Format(time.RFC3339)
}

// Grants lists what was added and still holds.
func (g *Gate) Grants() []Granted {
	var out []Granted
	for _, have := range g.rules.holding() {
		out = append(out, Granted{have.entry.Text, have.expires})
	}
	return out
}
