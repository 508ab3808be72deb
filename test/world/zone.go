package world

import (
	"maps"
	"net/netip"
	"strings"
	"sync"

	"golang.org/x/net/dns/dnsmessage"
)

// The names that the internet knows from the beginning. Every name below
// allowed.test is there too.
const (
	Allowed  = "allowed.test"
	Other    = "other.test"
	V6Only   = "v6only.test"
	Mixed    = "mixed.test"  // a public and a private address
	Rebind   = "rebind.test" // a public address once, then a private one
	Private  = "priv.test"
	Loopback = "127.0.0.1.allowed.test"
	Alias    = "alias.test" // another name for Other
	Database = "db.test"
	Git      = "git.test"
	Public   = "origin.example.com" // not a special name: for the mode internet
	Silent   = "silent.test"        // at an address that never answers
	Mute     = "mute.test"          // the resolver never answers
)

// muteRound stands for no answer at all.
const muteRound = "mute"

// names is the zone as it is when a test begins: for each name what is answered to
// the first question, to the second and so on; the last stays.
var names = map[string][][]string{
	Allowed:             {{"203.0.113.10", "2001:db8::10"}},
	"*." + Allowed:      {{"203.0.113.10", "2001:db8::10"}},
	Other:               {{"203.0.113.11", "2001:db8::11"}},
	V6Only:              {{"2001:db8::12"}},
	Mixed:               {{"203.0.113.13", "10.0.0.1", "2001:db8::13", "fd00::1"}},
	Rebind:              {{"203.0.113.14", "2001:db8::14"}, {"10.0.0.1", "fd00::1"}},
	Private:             {{"10.0.0.1", "fd00::1"}},
	Loopback:            {{"127.0.0.1", "::1"}},
	Alias:               {{Other}},
	Database:            {{"203.0.113.20"}},
	Git:                 {{"203.0.113.21"}},
	Public:              {{"203.0.113.22", "2001:db8::22"}},
	"other.example.com": {{"203.0.113.23", "2001:db8::23"}},
	Silent:              {{Silent4}},
	Mute:                {{muteRound}},
}

// Query is a question that the resolver got.
type Query struct {
	Name  string // without the last dot, as it was written
	Type  string // A, AAAA, …
	Proto string // udp, tcp
}

// zone answers questions and remembers them.
type zone struct {
	mu     sync.Mutex
	names  map[string][][]string
	asked  map[string]int // by name and type
	logged []Query
}

func newZone() *zone {
	z := &zone{}
	z.reset()
	return z
}

func (z *zone) reset() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.names, z.asked = maps.Clone(names), map[string]int{}
}

func (z *zone) forget() {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.logged = nil
}

func (z *zone) set(name string, rounds [][]string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.names[strings.ToLower(name)] = rounds
}

func (z *zone) queries() []Query {
	z.mu.Lock()
	defer z.mu.Unlock()
	return append([]Query(nil), z.logged...)
}

// answer returns the message that answers one, or nothing where nothing is said.
func (z *zone) answer(msg []byte, proto string) []byte {
	var p dnsmessage.Parser
	head, err := p.Start(msg)
	if err != nil || head.Response {
		return nil
	}
	q, err := p.Question()
	if err != nil {
		return nil
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	name := strings.TrimSuffix(q.Name.String(), ".")
	z.logged = append(z.logged, Query{name, strings.TrimPrefix(q.Type.String(), "Type"), proto})
	out := dnsmessage.Message{Header: dnsmessage.Header{ID: head.ID, Response: true, RecursionDesired: head.RecursionDesired, RecursionAvailable: true},
		Questions: []dnsmessage.Question{q}}
	if !z.resolve(&out, q.Name, q.Type) {
		return nil
	}
	b, err := out.Pack()
	if err != nil {
		return nil
	}
	return b
}

// resolve adds what is known of a name. An entry that is no address is another name
// for the same.
func (z *zone) resolve(out *dnsmessage.Message, name dnsmessage.Name, kind dnsmessage.Type) (said bool) {
	round, ok := z.round(strings.ToLower(strings.TrimSuffix(name.String(), ".")), kind)
	if !ok {
		out.RCode = dnsmessage.RCodeNameError
		return true
	}
	for _, text := range round {
		h := dnsmessage.ResourceHeader{Name: name, Class: dnsmessage.ClassINET}
		a, err := netip.ParseAddr(text)
		switch {
		case text == muteRound:
			return false
		case err != nil:
			next := dnsmessage.MustNewName(text + ".")
			out.Answers = append(out.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.CNAMEResource{CNAME: next}})
			return len(out.Answers) < 16 && z.resolve(out, next, kind)
		case a.Is4() && kind == dnsmessage.TypeA:
			out.Answers = append(out.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: a.As4()}})
		case a.Is6() && kind == dnsmessage.TypeAAAA:
			out.Answers = append(out.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AAAAResource{AAAA: a.As16()}})
		}
	}
	return true
}

// round returns what is due for a name: its own entry, or that of a star above it.
func (z *zone) round(name string, kind dnsmessage.Type) ([]string, bool) {
	rounds, ok := z.names[name]
	for rest := name; !ok; rounds, ok = z.names["*."+rest] {
		var more bool
		if _, rest, more = strings.Cut(rest, "."); !more {
			return nil, false
		}
	}
	key := name + " " + kind.String()
	i := z.asked[key]
	z.asked[key]++
	if len(rounds) == 0 {
		return nil, true
	}
	return rounds[min(i, len(rounds)-1)], true
}
