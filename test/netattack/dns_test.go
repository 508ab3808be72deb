package netattack

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/world"
)

// question packs a query as a stub resolver does. size 0 means no EDNS.
func question(name string, kind dnsmessage.Type, size int) []byte {
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 4711, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: dnsmessage.MustNewName(name + "."), Type: kind, Class: dnsmessage.ClassINET}}}
	if size > 0 {
		var h dnsmessage.ResourceHeader
		if err := h.SetEDNS0(size, dnsmessage.RCodeSuccess, true); err != nil {
			panic(err)
		}
		m.Additionals = []dnsmessage.Resource{{Header: h, Body: &dnsmessage.OPTResource{}}}
	}
	b, err := m.Pack()
	if err != nil {
		panic(err)
	}
	return b
}

// reply checks a reply for its code and its records.
func reply(code dnsmessage.RCode, records int) func(probe.Answer) error {
	return func(a probe.Answer) error {
		var m dnsmessage.Message
		if err := m.Unpack(a.Got); err != nil {
			return fmt.Errorf("no reply (%s): %w", a.End, err)
		}
		if m.RCode != code || len(m.Answers) != records || len(m.Authorities) != 0 {
			return fmt.Errorf("code %v with %d records, want %v with %d", m.RCode, len(m.Answers), code, records)
		}
		for _, r := range m.Answers {
			if r.Header.Type != dnsmessage.TypeA && r.Header.Type != dnsmessage.TypeAAAA {
				return fmt.Errorf("a record of type %v", r.Header.Type)
			}
		}
		return nil
	}
}

// kinds are the record types that carry something, and some that do not exist.
var kinds = []dnsmessage.Type{
	dnsmessage.TypeNS, dnsmessage.TypeCNAME, dnsmessage.TypeSOA, 10 /* NULL */, dnsmessage.TypePTR, dnsmessage.TypeHINFO, dnsmessage.TypeMX, dnsmessage.TypeTXT,
	17 /* RP */, 18 /* AFSDB */, 24 /* SIG */, 25 /* KEY */, 29 /* LOC */, dnsmessage.TypeSRV, 35 /* NAPTR */, 37 /* CERT */, 39 /* DNAME */, 43 /* DS */, 44, /* SSHFP */
	46 /* RRSIG */, 47 /* NSEC */, 48 /* DNSKEY */, 50 /* NSEC3 */, 52 /* TLSA */, 61 /* OPENPGPKEY */, 62 /* CSYNC */, dnsmessage.TypeSVCB, dnsmessage.TypeHTTPS,
	99 /* SPF */, 108 /* EUI48 */, 249 /* TKEY */, 256 /* URI */, 257 /* CAA */, 32769 /* DLV */, 65280 /* private use */, 65535,
}

func dnsRows() []row {
	return slices.Concat(leakRows(), resolverRows(), typeRows(), spellingRows(), inverseRows(), malformedRows(), aliveRows())
}

// leakRows carry data in the names that they ask for. Closed means that nobody was
// asked.
func leakRows() []row {
	var rows []row
	leak := func(id, what, name, record string, p probe.Probe) {
		rows = append(rows, row{id: id, what: what, want: closed, p: p, open: sign{query: name}, record: record})
	}
	denied := reply(dnsmessage.RCodeNameError, 0)
	for what, tcp := range map[string]bool{"UDP": false, "TCP": true} {
		for kind, t := range map[string]dnsmessage.Type{"A": dnsmessage.TypeA, "AAAA": dnsmessage.TypeAAAA, "TXT": dnsmessage.TypeTXT, "HTTPS": dnsmessage.TypeHTTPS, "NULL": 10} {
			name := strings.ToLower(fmt.Sprintf("63616e617279-%s-%s.x.denied.test", what, kind))
			leak("DN-001", kind+" of a telling label by "+what, name, "dns "+name, probe.Probe{Ask: &probe.Ask{TCP: tcp, Bytes: question(name, t, 1232)}})
			rows[len(rows)-1].check = denied
		}
	}
	const byLibrary = "63616e617279-getent.x.denied.test"
	leak("DN-001", "a telling label by the C library", byLibrary, "dns "+byLibrary, probe.Probe{Command: []string{"getent", "hosts", byLibrary}})
	long := strings.Repeat(strings.Repeat("6", 60)+".", 3) + "long.denied.test"
	leak("DN-001", "a label as long as can be", long, "dns "+long, probe.Probe{Ask: &probe.Ask{Bytes: question(long, dnsmessage.TypeA, 0)}})
	for what, p := range map[string]probe.Probe{
		"connect": tunnel(connectTo("736563726574-connect.denied.test:443"), "x"),
		"http":    talk(probe.Proxy4, 0, "origin ", probe.Say("GET http://736563726574-http.denied.test/ HTTP/1.1\r\nHost: x\r\n\r\n")),
		"socks":   socksTo(socksName("736563726574-socks.denied.test", 443), "x"),
	} {
		port := map[string]string{"connect": "443", "http": "80", "socks": "443"}[what]
		name := "736563726574-" + what + ".denied.test"
		if p.Talk.Enough == "x" {
			p.Talk.Enough, p.Talk.Steps = "", append(p.Talk.Steps, probe.Step{Shut: true})
		}
		leak("DN-002", "a telling name to the proxy by "+what, name, what+" "+name+":"+port, p)
	}
	// Even under a star that is allowed a name goes nowhere until somebody connects.
	const under = "63616e617279-idle.u.wild.test"
	leak("DN-003", "a telling label under an allowed star, without a connection", under, "", probe.Probe{Command: []string{"getent", "hosts", under}})
	return rows
}

// doh are resolvers that are reached by the web's own port.
var doh = []string{"dns.google", "cloudflare-dns.com", "mozilla.cloudflare-dns.com", "one.one.one.one", "dns.quad9.net", "doh.opendns.com", "dns.nextdns.io"}

// resolverRows ask others than the gate's.
func resolverRows() []row {
	var rows []row
	for _, server := range []string{"8.8.8.8", "1.1.1.1", "10.0.0.53", "100.100.100.100", "169.254.169.253", "2001:4860:4860::8888", "fd00::53"} {
		for what, tcp := range map[string]bool{"udp": false, "tcp": true} {
			at := server + ":53"
			fam := "4"
			if strings.Contains(server, ":") {
				at, fam = "["+server+"]:53", "6"
			}
			name := strings.NewReplacer(".", "-", ":", "-").Replace(server) + "-" + what + ".denied.test"
			rows = append(rows, row{id: "DN-004", what: what + " port 53 of " + server, want: closed, family: fam, open: sign{packet: what + " " + at}, record: "dns " + name,
				p: probe.Probe{Ask: &probe.Ask{Server: at, TCP: tcp, Bytes: question(name, dnsmessage.TypeA, 0)}}, check: reply(dnsmessage.RCodeNameError, 0)})
		}
	}
	for what, tcp := range map[string]bool{"UDP": false, "TCP": true} {
		name := "router-" + strings.ToLower(what) + ".denied.test"
		rows = append(rows, row{id: "DN-004", what: "the host's own resolver by " + what, want: closed, family: "4", open: sign{query: name}, record: "dns " + name,
			p: probe.Probe{Ask: &probe.Ask{Server: world.Router4 + ":53", TCP: tcp, Bytes: question(name, dnsmessage.TypeA, 0)}}, check: reply(dnsmessage.RCodeNameError, 0)})
	}
	for _, at := range []string{"8.8.8.8:853", "[2001:4860:4860::8888]:853"} {
		rows = append(rows, row{id: "DN-004", what: "DNS over TLS at " + at, want: closed, p: talk(at, 0, "canary "), open: sign{reply: "canary "}, record: "tcp " + at})
	}
	for _, at := range []string{"8.8.8.8:443", "1.1.1.1:443", "[2606:4700:4700::1111]:443"} {
		rows = append(rows, row{id: "DN-004", what: "DNS over HTTPS at " + at, want: closed, p: talk(at, 0, "origin ", inTLS("cloudflare-dns.com")...), open: sign{reply: "origin "}, record: "tcp " + at})
	}
	for _, name := range doh {
		rows = append(rows,
			row{id: "DN-004", what: "DNS over HTTPS at " + name, want: closed, p: talk(name+":443", 4, "origin ", inTLS(name)...), open: sign{reply: "origin "}, record: "dns " + name},
			row{id: "DN-004", what: "DNS over HTTPS at " + name + " by CONNECT", want: closed, p: tunnel(connectTo(name+":443"), "origin ", inTLS(name)...), open: sign{reply: "origin "},
				says: "HTTP/1.1 403 ", record: "connect " + name + ":443"})
	}
	return rows
}

// typeRows ask an allowed name for what could carry data back.
func typeRows() []row {
	var rows []row
	for _, k := range kinds {
		name := fmt.Sprintf("type-%d.wild.test", k)
		rows = append(rows, row{id: "DN-005", what: fmt.Sprintf("a record of type %d", k), want: closed, open: sign{query: name}, check: reply(dnsmessage.RCodeSuccess, 0),
			p: probe.Probe{Ask: &probe.Ask{Bytes: question(name, k, 4096)}}})
	}
	for _, k := range []dnsmessage.Type{dnsmessage.TypeAXFR, 251 /* IXFR */, dnsmessage.TypeALL} {
		name := fmt.Sprintf("type-%d.wild.test", k)
		rows = append(rows, row{id: "DN-005", what: fmt.Sprintf("a question of type %d by TCP", k), want: closed, open: sign{query: name}, check: noRecords,
			p: probe.Probe{Ask: &probe.Ask{TCP: true, Bytes: question(name, k, 0)}}})
	}
	for _, size := range []int{1, 512, 1232, 4096, 65535} {
		name := fmt.Sprintf("size-%d.wild.test", size)
		rows = append(rows, row{id: "DN-005", what: fmt.Sprintf("EDNS with room for %d bytes", size), want: closed, open: sign{query: name}, check: reply(dnsmessage.RCodeSuccess, 1),
			p: probe.Probe{Ask: &probe.Ask{Bytes: question(name, dnsmessage.TypeA, size)}}})
	}
	return rows
}

func noRecords(a probe.Answer) error {
	var m dnsmessage.Message
	if err := m.Unpack(a.Got); err != nil {
		return fmt.Errorf("no reply (%s): %w", a.End, err)
	}
	if len(m.Answers)+len(m.Authorities) > 0 {
		return fmt.Errorf("records: %v", m.Answers)
	}
	return nil
}

// spellingRows write a name in other letters. The answer must repeat them: a stub
// that plays with them takes no other.
func spellingRows() []row {
	echo := func(name string, n int) func(probe.Answer) error {
		return func(a probe.Answer) error {
			var m dnsmessage.Message
			if err := m.Unpack(a.Got); err != nil {
				return fmt.Errorf("no reply (%s): %w", a.End, err)
			}
			if len(m.Answers) != n || m.Questions[0].Name.String() != name+"." {
				return fmt.Errorf("%v, %d records", m.Questions, len(m.Answers))
			}
			return nil
		}
	}
	var rows []row
	for name, records := range map[string]int{"cAsE.WiLd.TeSt": 1, "cAsE.DeNiEd.tEsT": 0} {
		rows = append(rows, row{id: "DN-005", what: "the letters of " + name, want: closed, open: sign{query: name}, check: echo(name, records), p: probe.Probe{Ask: &probe.Ask{Bytes: question(name, dnsmessage.TypeA, 0)}}})
	}
	return rows
}

// inverseRows ask about the network that the host is in.
func inverseRows() []row {
	var rows []row
	for what, name := range map[string]string{
		"192.168.1.1": "1.1.168.192.in-addr.arpa", "10.0.0.1": "1.0.0.10.in-addr.arpa", "the host": "2.2.0.192.in-addr.arpa", "a pool address": "1.0.18.198.in-addr.arpa",
		"fd00::1": "1." + strings.Repeat("0.", 29) + "d.f.ip6.arpa",
	} {
		rows = append(rows, row{id: "DN-006", what: "the name of " + what, want: closed, open: sign{query: name}, record: "dns " + name, check: reply(dnsmessage.RCodeNameError, 0),
			p: probe.Probe{Ask: &probe.Ask{Bytes: question(name, dnsmessage.TypePTR, 0)}}})
	}
	for _, name := range []string{"secret-host", "secret-host.corp.test", "printer.corp.test", "secret.local"} {
		rows = append(rows, row{id: "DN-007", what: "the neighbour " + name, want: closed, open: sign{done: true}, p: probe.Probe{Command: []string{"getent", "hosts", name}}, record: "dns " + name})
	}
	for _, name := range []string{"wpad", "printer", "db", "box.tailnet.ts.net", "router.lan", "nas.home.arpa", "vault.internal", "_ldap._tcp.corp.test"} {
		rows = append(rows, row{id: "DN-007", what: "the neighbour " + name, want: closed, open: sign{query: name}, record: "dns " + name, check: reply(dnsmessage.RCodeNameError, 0),
			p: probe.Probe{Ask: &probe.Ask{Bytes: question(name, dnsmessage.TypeA, 0)}}})
	}
	search := row{id: "DN-007", what: "a list of domains to search", want: closed, open: sign{done: true}, p: probe.Probe{Look: "search"},
		alone: "the host of this world has none; the test of the host's own files gives it one"}
	return append(rows, search)
}

// malformedRows are for the parser. There is nothing behind them that could be open.
func malformedRows() []row {
	const alone = "no resolver does anything with it: what counts is that ours lives on"
	good := question("mangled.wild.test", dnsmessage.TypeA, 0)
	edit := func(at int, b ...byte) []byte {
		out := slices.Clone(good)
		copy(out[at:], b)
		return out
	}
	list := map[string][]byte{
		"nothing":                      {},
		"one byte":                     {0},
		"a header alone":               good[:12],
		"no question":                  edit(4, 0, 0)[:12],
		"many questions":               edit(4, 255, 255),
		"half a question":              good[:20],
		"a pointer to itself":          append(slices.Clone(good[:12]), 0xc0, 12, 0, 1, 0, 1),
		"a pointer beyond the end":     append(slices.Clone(good[:12]), 0xff, 0xff, 0, 1, 0, 1),
		"a label of a reserved kind":   append(slices.Clone(good[:12]), 0x80, 'a', 0, 0, 1, 0, 1),
		"a name without an end":        append(slices.Clone(good[:12]), []byte(strings.Repeat("\x3f"+strings.Repeat("a", 63), 8))...),
		"an answer":                    edit(2, 0x81, 0x80),
		"another opcode":               edit(2, 0x28, 0),
		"another class":                append(slices.Clone(good[:len(good)-2]), 0, 3),
		"records in a question":        edit(6, 0, 9),
		"bytes behind it":              append(slices.Clone(good), 1, 2, 3, 4),
		"EDNS that is cut":             question("mangled.wild.test", dnsmessage.TypeA, 1232)[:len(good)+5],
		"EDNS of another version":      another(1),
		"a name with a NUL":            append(slices.Clone(good[:12]), 4, 'a', 0, 'b', 'c', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1),
		"a name with a dot in a label": append(slices.Clone(good[:12]), 3, 'a', '.', 'b', 4, 't', 'e', 's', 't', 0, 0, 1, 0, 1),
		"a large message":              append(slices.Clone(good), make([]byte, 9000)...),
	}
	var rows []row
	for what, msg := range list {
		for how, tcp := range map[string]bool{"UDP": false, "TCP": true} {
			rows = append(rows, row{id: "DN-005", what: what + " by " + how, want: closed, alone: alone, open: sign{query: "mangled.wild.test"}, check: noPoolAddress,
				p: probe.Probe{Ask: &probe.Ask{TCP: tcp, Bytes: msg, Brief: true}}})
		}
	}
	for what, frame := range map[string][]byte{"a length and nothing": {0xff, 0xff}, "half a length": {0}, "a length of nothing": {0, 0}} {
		rows = append(rows, row{id: "DN-005", what: what + " by TCP", want: closed, alone: alone, open: sign{query: "mangled.wild.test"}, check: noPoolAddress,
			p: probe.Probe{Ask: &probe.Ask{TCP: true, Frame: frame, Brief: true}}})
	}
	return rows
}

// another is a query that speaks a version of EDNS that does not exist.
func another(version byte) []byte {
	b := question("mangled.wild.test", dnsmessage.TypeA, 1232)
	b[len(b)-5] = version // the OPT record ends: extended code, version, flags (2), length (2)
	return b
}

func noPoolAddress(a probe.Answer) error {
	var m dnsmessage.Message
	if m.Unpack(a.Got) == nil && len(m.Answers) > 0 {
		return errors.New("it was answered with an address")
	}
	return nil
}

// aliveRows come last: after all of that names are still answered.
func aliveRows() []row {
	var rows []row
	for how, tcp := range map[string]bool{"UDP": false, "TCP": true} {
		rows = append(rows, row{id: "DN-005", what: "an honest question after all by " + how, want: works, open: sign{reply: "\x04test"}, check: reply(dnsmessage.RCodeSuccess, 1),
			p: probe.Probe{Last: true, Ask: &probe.Ask{TCP: tcp, Bytes: question("allowed.test", dnsmessage.TypeA, 0)}}})
	}
	return rows
}
