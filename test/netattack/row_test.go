package netattack

import (
	"bytes"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/world"
)

// The verdicts of rows and of numbers.
const (
	closed   = "closed"
	works    = "works"
	residual = "residual" // open by decision; docs/threat-model.md says so
	later    = "later"    // another suite
)

// row is one attack, or one thing that must work.
type row struct {
	id   string // of the catalogue
	what string // what it tries; one of a kind within the number
	want string // closed or works
	p    probe.Probe
	open sign

	says    string                   // what must come back, where the base policy holds
	check   func(probe.Answer) error // the same, for more than a text
	witness func(*seen) error        // what must be seen outside
	record  string                   // the decision that the journal must have: "VIA TARGET"
	strict  bool                     // the journal counts it among what was not understood
	alone   string                   // why there is no control
	rootly  bool                     // the control needs root
	but     map[string]string        // flags under which policy says otherwise, and why
	family  string                   // "4", "6" or neither
}

func (r *row) name() string { return r.id + " " + r.what }

// sign is how one sees that a row is open. One field is set.
type sign struct {
	reply  string // it came back
	packet string // this left the host: "udp 203.0.113.9:443"
	query  string // the resolver was asked for this name
	heard  string // a server got it
	done   bool   // the probe itself can tell
}

// seen is what the witnesses saw of one run.
type seen struct {
	queries []world.Query
	packets []world.Packet
	heard   []world.Heard
	records []journal.Record
}

func look(w *world.World) *seen {
	s := &seen{queries: w.Queries(), packets: w.Dialled(), heard: w.Heard()}
	for i, h := range s.heard {
		s.heard[i].First = absolute.ReplaceAll(h.First, []byte("$1 /"))
	}
	return s
}

// absolute is how a request reaches the origin that came by a proxy which passes it on
// as it is.
var absolute = regexp.MustCompile(`(?m)^([A-Z]+) http://[a-z0-9.-]+(?::[0-9]+)?/`)

// isOpen reports whether the sign of a row is to be seen.
func (r *row) isOpen(a probe.Answer, s *seen) bool {
	switch o := r.open; {
	case o.done:
		return a.Done
	case o.reply != "":
		return bytes.Contains(a.Got, []byte(o.reply)) && !bytes.Contains(a.Got, []byte("X-Ringfence: denied"))
	case o.packet != "":
		return slices.ContainsFunc(s.packets, func(p world.Packet) bool { return packetText(p) == o.packet })
	case o.query != "":
		return s.asked(o.query)
	case o.heard != "":
		return s.hears(o.heard)
	}
	panic(r.name() + " has no sign")
}

func packetText(p world.Packet) string {
	return p.Proto + " " + netip.AddrPortFrom(p.Addr, p.Port).String()
}

func (s *seen) asked(name string) bool {
	return slices.ContainsFunc(s.queries, func(q world.Query) bool { return strings.EqualFold(q.Name, name) })
}

func (s *seen) hears(text string) bool {
	return slices.ContainsFunc(s.heard, func(h world.Heard) bool { return bytes.Contains(h.First, []byte(text)) })
}

// has reports whether the journal has a decision: "tcp 203.0.113.66:80",
// "connect denied.test:443", "dns denied.test".
func (s *seen) has(verdict, what string) bool {
	return slices.ContainsFunc(s.records, func(r journal.Record) bool {
		return r.Event == journal.Decision && r.Verdict == verdict && recordText(r) == what
	})
}

func recordText(r journal.Record) string {
	host := r.Name
	if host == "" {
		host = r.Addr
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if r.Port == 0 {
		return r.Via + " " + host
	}
	return fmt.Sprintf("%s %s:%d", r.Via, host, r.Port)
}

// strict counts the refusals of what was not understood.
func (s *seen) strict() (n int) {
	for _, r := range s.records {
		if r.Event == journal.Decision && r.Verdict == journal.Deny && (strings.HasPrefix(r.Rule, "strict ") || r.Rule == "names of hosts") {
			n++
		}
	}
	return n
}

// untold counts the refusals that the journal has by their number alone: when there
// are too many in a second.
func (s *seen) untold() (n int) {
	for _, r := range s.records {
		n += max(r.Count-1, 0)
	}
	return n
}

// The parts of which probes are made.

func talk(to string, family int, enough string, steps ...probe.Step) probe.Probe {
	return probe.Probe{Talk: &probe.Talk{To: to, Family: family, Enough: enough, Steps: steps}}
}

// get is a request for the page that tells who answers.
func get(host string) string {
	return "GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"
}

// established is what both proxies of this suite say to CONNECT.
const established = "HTTP/1.1 200 Connection established\r\n\r\n"

func connectTo(target string) string {
	return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
}

// tunnel is CONNECT, and what is done when the tunnel is there.
func tunnel(raw string, enough string, then ...probe.Step) probe.Probe {
	first := probe.Step{Send: []byte(raw), Until: established}
	return talk(probe.Proxy4, 0, enough, append([]probe.Step{first}, then...)...)
}

// socksYes is the end of a SOCKS5 handshake that succeeds.
const socksYes = "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"

// socksTo is a SOCKS5 handshake with this request, and what is done then.
func socksTo(request []byte, enough string, then ...probe.Step) probe.Probe {
	steps := []probe.Step{{Send: []byte{5, 1, 0}, Until: "\x05\x00"}, {Send: request, Until: socksYes}}
	return talk(probe.Proxy4, 0, enough, append(steps, then...)...)
}

func socksName(name string, port uint16) []byte {
	b := append([]byte{5, 1, 0, 3, byte(len(name))}, name...)
	return append(b, byte(port>>8), byte(port))
}

func socksAddr(a netip.Addr, port uint16) []byte {
	kind := byte(1)
	if a.Is6() {
		kind = 4
	}
	b := append([]byte{5, 1, 0, kind}, a.AsSlice()...)
	return append(b, byte(port>>8), byte(port))
}

// inTLS goes on inside TLS and asks for the page that tells who answers.
func inTLS(name string) []probe.Step {
	return []probe.Step{{TLS: name}, probe.Say(get(name))}
}
