package gate

import (
	"cmp"
	"errors"
	"io"
	"sync"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/leakscan"
)

// errDecoy is a decoy among the bytes that leave: somebody inside looked for
// credentials and is sending off what it found.
var errDecoy = errors.New("a decoy credential was about to leave")

// Caught is a decoy that was about to leave.
type Caught struct {
	Decoy, Form string // which, and how it was written
	Host        string
}

// upward is the way to an origin: what goes there is counted against a budget and
// searched for decoys. plain is false for what only looks like noise.
func (k *call) upward(origin io.Writer, plain bool) io.Writer {
	if b := k.g.budgets.of(k.target); b != nil {
		origin = b.writer(origin)
	}
	if look := k.inspector(); plain && look != nil {
		origin = &searched{origin, look}
	}
	return origin
}

// searched passes on what holds no decoy.
type searched struct {
	io.Writer
	look func([]byte) error
}

func (s *searched) Write(b []byte) (int, error) {
	if err := s.look(b); err != nil {
		return 0, err
	}
	return s.Writer.Write(b)
}

// searchedReader ends where a decoy is read.
type searchedReader struct {
	io.Reader
	look func([]byte) error // nil: nobody looks
}

func (s *searchedReader) Read(b []byte) (int, error) {
	n, err := s.Reader.Read(b)
	if s.look != nil && s.look(b[:n]) != nil {
		return 0, errDecoy
	}
	return n, err
}

// inspector searches what a client sends; nil where nobody looks.
func (k *call) inspector() func([]byte) error {
	if k.g.decoys.set == nil || k.proto == string(address.TLS) || mutated("decoy") {
		return nil
	}
	scan := k.g.decoys.set.Scanner()
	return func(b []byte) error {
		name, form, found := scan.Scan(b)
		if !found {
			return nil
		}
		r := k.line(journal.Sent)
		r.Rule, r.Source = "decoys", ""
		k.g.decoys.caught(r, name, form)
		return errDecoy
	}
}

// decoys are what must not leave, and whom to tell that one was about to.
type decoys struct {
	set       *leakscan.Set // nil: nothing is searched
	records   *recorder
	tell      func(Caught) // may be nil
	alarms    sync.WaitGroup
	mentioned sync.Map
}

// inName searches a name that somebody asks for: looking it up would carry it out.
func (d *decoys) inName(name string) bool {
	if d.set == nil {
		return false
	}
	decoy, form, found := d.set.FindName(name)
	if found {
		d.caught(journal.Record{Event: journal.Sent, Via: "dns", Name: "a name that holds it", Rule: "decoys"}, decoy, form)
	}
	return found
}

// caught records a decoy and raises the alarm. It does not wait: the caller may be the
// thread that relays.
func (d *decoys) caught(r journal.Record, decoy, form string) {
	r.Kind, r.Verdict, r.Secret, r.Reason = journal.Decoy, journal.Deny, decoy, errDecoy.Error()+", "+form
	d.records.write(r)
	if d.tell != nil {
		d.alarms.Go(func() { d.tell(Caught{Decoy: decoy, Form: form, Host: cmp.Or(r.Name, r.Addr)}) })
	}
}

// Alarmed waits until everybody was told of what was caught: a session may end by itself
// at the very moment.
func (g *Gate) Alarmed() { g.decoys.alarms.Wait() }

// Caught raises the alarm for what others saw leave.
func (g *Gate) Caught(host, decoy, form string) {
	g.decoys.caught(journal.Record{Event: journal.Sent, Via: "broker", Name: host, Rule: "decoys"}, decoy, form)
}

// Mentioned records once that the agent told its model of a decoy. It is no alarm:
// whoever prints the environment has one in the conversation from then on.
func (g *Gate) Mentioned(host, decoy, form string) {
	if _, before := g.decoys.mentioned.LoadOrStore(decoy, true); !before {
		g.records.write(journal.Record{Kind: journal.Decoy, Event: journal.Sent, Via: "broker", Name: host, Rule: "decoys", Verdict: journal.Allow, Secret: decoy,
			Reason: "the agent told its model of a decoy, " + form})
	}
}

// Decoys is what is searched for; nil: nothing.
func (g *Gate) Decoys() *leakscan.Set { return g.decoys.set }
