package netattack

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"ringfence.dev/ringfence/test/netattack/probe"
)

func proxyRows() []row {
	return slices.Concat(targetRows(), socksRows(), urlRows(), hostRows(), framingRows(), otherRows(), sequenceRows(), upgradeRows(), methodRows())
}

// status is the beginning of an answer with this code.
func status(code int) string { return fmt.Sprintf("HTTP/1.1 %d ", code) }

// connects are requests to open a tunnel. What a careless proxy makes of the target
// leads to a server that speaks first, or TLS, by its port.
func connects(id string, code int, targets ...string) (rows []row) {
	for _, t := range targets {
		rows = append(rows, connect(id, fmt.Sprintf("CONNECT %.40q", t), code, "CONNECT "+t+" HTTP/1.1\r\nHost: allowed.test:443\r\n\r\n"))
	}
	return rows
}

// connect is one, byte for byte.
func connect(id, what string, code int, raw string) row {
	p := tunnel(raw, "origin ", inTLS("allowed.test")...)
	open := sign{reply: "origin "}
	if strings.Contains(raw, fmt.Sprint(":", canaryPort)) {
		p, open = tunnel(raw, "canary "), sign{reply: "canary "}
	}
	return row{id: id, what: what, want: closed, p: p, open: open, says: status(code), strict: code == 400, check: closes}
}

// closes: after a refusal the connection is over.
func closes(a probe.Answer) error {
	if a.End != probe.EOF && a.End != probe.Reset {
		return fmt.Errorf("the connection did not end: %q", a.End)
	}
	return nil
}

// targetRows are the targets of CONNECT that somebody reads differently.
func targetRows() []row {
	denied := connects("PX-002", 403, "denied.test:443")
	denied[0].record = "connect denied.test:443"
	denied[0].check = func(a probe.Answer) error {
		if !bytes.Contains(a.Got, []byte("Connection: close\r\n")) {
			return errors.New("it does not say that the connection ends")
		}
		return closes(a)
	}
	dot := row{id: "PX-003", what: "a dot at the end", want: works, p: tunnel("CONNECT allowed.test.:443 HTTP/1.1\r\nHost: allowed.test.:443\r\n\r\n", "origin ", inTLS("allowed.test")...),
		open: sign{reply: "origin allowed.test "}, record: "connect allowed.test:443"}
	apex := connects("PX-007", 403, "wild.test:443")
	apex[0].record = "connect wild.test:443"
	below := row{id: "PX-008", what: "two labels below the star", want: works, p: tunnel(connectTo("a.b.wild.test:443"), "origin ", inTLS("a.b.wild.test")...), open: sign{reply: "origin a.b.wild.test "}, record: "connect a.b.wild.test:443"}
	twoHosts := row{id: "PX-024", what: "another Host beside the target", want: works, p: tunnel("CONNECT allowed.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n", "origin ", inTLS("allowed.test")...),
		open: sign{reply: "origin allowed.test "}, record: "connect allowed.test:443", witness: func(s *seen) error { return notAsked(s, "evil.test") }}
	var ports []row
	for _, target := range []string{"allowed.test:22", "allowed.test:25", "allowed.test:8443", "allowed.test:444"} {
		r := connects("PX-025", 403, target)[0]
		r.record, r.alone = "connect "+target, "nobody listens there"
		ports = append(ports, r)
	}
	ports = append(ports, row{id: "PX-025", what: "the port of a canary", want: closed, p: tunnel(connectTo("allowed.test:6379"), "canary "), open: sign{reply: "canary "}, says: status(403), record: "connect allowed.test:6379"})
	p := fmt.Sprint(canaryPort)
	return slices.Concat(denied, apex, ports, []row{dot, below, twoHosts},
		connects("PX-004", 400, "allowed.test..:443", "allowed..test:443", ".allowed.test:443"),
		connects("PX-011", 400, "evil.test\x00.allowed.test:443", "evil.test\x00.wild.test:443"),
		connects("PX-017", 403, "203.0.113.10:443", "[2001:db8::10]:443", "[::ffff:203.0.113.10]:443"),
		connects("PX-020", 400, "[fe80::1%25eth0]:"+p, "[::1%25lo]:"+p, "[fe80::1%cable0]:"+p),
		connects("PX-021", 400, "user@allowed.test:443", "allowed.test:443@evil.test:443", "user:pw@allowed.test:443", "evil.test:443@allowed.test:443"),
		connects("PX-022", 400, "allowed.test", "allowed.test:", "allowed.test:0443", "allowed.test:+443", "allowed.test:99999", "allowed.test:0", "allowed.test: 443", "allowed.test:443/x",
			"allowed.test:443?x", "allowed.test:443#x", "allowed.test:65536", "allowed.test:0x1bb", "allowed.test:443 "),
		connects("PX-023", 400, "//evil.test:443", "/", "/path", "*", "http://allowed.test:443", "http://allowed.test:443/"),
	)
}

func notAsked(s *seen, name string) error {
	if s.asked(name) {
		return fmt.Errorf("%s was looked up", name)
	}
	return nil
}

// socksRows are the same for SOCKS5.
func socksRows() []row {
	var rows []row
	one := func(id, what string, code string, request []byte, sees string, strict bool) *row {
		then := []probe.Step{}
		if sees == "origin " {
			then = inTLS("allowed.test")
		}
		rows = append(rows, row{id: id, what: what, want: closed, p: socksTo(request, sees, then...), open: sign{reply: sees}, says: code, strict: strict, check: closes})
		return &rows[len(rows)-1]
	}
	const no = "\x05\x02"
	for _, name := range []string{"evil.test\x00.wild.test", "denied.test\x00.wild.test", "evil.test\x00"} {
		one("PX-012", fmt.Sprintf("the name %q", name), no, socksName(name, 443), "origin ", true)
	}
	for _, name := range []string{"127.0.0.1", "::1", "[::1]", "2130706433", "0x7f000001", "0x7f.1", "127.1", "017700000001"} {
		r := one("PX-013", "the name "+name, no, socksName(name, canaryPort), "canary host", true)
		if slices.Contains([]string{"0x7f.1", "127.1"}, name) {
			r.alone = "the careless proxy asks DNS for it"
		}
	}
	for _, text := range []string{"203.0.113.10", "2001:db8::10", "::ffff:203.0.113.10"} {
		a := netip.MustParseAddr(text)
		one("PX-014", "the address "+text, no, socksAddr(a, 443), "origin ", false).record = "socks " + netip.AddrPortFrom(a, 443).String()
	}
	for command, what := range map[byte]string{2: "BIND", 3: "UDP ASSOCIATE", 0xf0: "RESOLVE", 0xf1: "RESOLVE_PTR", 0: "command 0"} {
		b := socksName("allowed.test", 443)
		b[1] = command
		one("PX-015", what, "\x05\x07", b, "origin ", true)
	}
	four := talk(probe.Proxy4, 0, "origin ", append([]probe.Step{{Send: []byte("\x04\x01\x01\xbb\x00\x00\x00\x01\x00allowed.test\x00"), Until: "\x00\x5a\x00\x00\x00\x00\x00\x00"}}, inTLS("allowed.test")...)...)
	rows = append(rows, row{id: "PX-015", what: "SOCKS4a", want: closed, p: four, open: sign{reply: "origin "}, strict: true, check: closes})
	return append(rows, brokenSOCKS()...)
}

// brokenSOCKS is for the parser.
func brokenSOCKS() []row {
	const alone = "there is no target in it"
	good := socksName("allowed.test", 443)
	reserved := slices.Clone(good)
	reserved[2] = 1
	version := slices.Clone(good)
	version[0] = 4
	var rows []row
	for what, b := range map[string][]byte{
		"an empty name":          {5, 1, 0, 3, 0, 1, 0xbb},
		"a name that is cut":     append([]byte{5, 1, 0, 3, 255}, "allowed.test"...),
		"a reserved byte":        reserved,
		"another version inside": version,
		"an unknown address":     {5, 1, 0, 0x7f, 1, 2, 3, 4, 5, 6},
		"port 0":                 append(slices.Clone(good[:len(good)-2]), 0, 0),
		"bytes behind it":        append(slices.Clone(good), "\x16\x03\x01"...),
	} {
		p := talk(probe.Proxy4, 0, "", probe.Step{Send: []byte{5, 1, 0}, Until: "\x05\x00"}, probe.Step{Send: b, Shut: true})
		rows = append(rows, row{id: "PX-016", what: what, want: closed, p: p, open: sign{reply: socksYes}, alone: alone, strict: true, check: closes})
	}
	for what, b := range map[string][]byte{"no methods": {5, 0}, "methods that are cut": {5, 200, 0}, "passwords only": {5, 1, 2}, "one byte": {5}, "methods without ours": {5, 3, 1, 2, 3}} {
		rows = append(rows, row{id: "PX-016", what: what, want: closed, p: talk(probe.Proxy4, 0, "", probe.Step{Send: b, Shut: true}), open: sign{reply: "\x05\x00"}, alone: alone, strict: true, check: closes})
	}
	last := row{id: "PX-016", what: "an honest client after all", want: works, p: socksTo(socksName("allowed.test", 443), "origin ", inTLS("allowed.test")...), open: sign{reply: "origin allowed.test "}}
	last.p.Last = true
	return append(rows, last)
}

// requests are those in absolute form.
func requests(id string, code int, targets ...string) (rows []row) {
	for _, t := range targets {
		p := talk(probe.Proxy4, 0, "origin ", probe.Say("GET "+t+" HTTP/1.1\r\nHost: denied.test\r\nConnection: close\r\n\r\n"))
		rows = append(rows, row{id: id, what: fmt.Sprintf("GET %.40q", t), want: closed, p: p, open: sign{reply: "origin "}, says: status(code), strict: code == 400, check: closes})
	}
	return rows
}

func urlRows() []row {
	other := row{id: "PX-029", what: "another Host beside the target", want: works, p: talk(probe.Proxy4, 0, "origin ", probe.Say("GET http://allowed.test/t29 HTTP/1.1\r\nHost: denied.test\r\nConnection: close\r\n\r\n")),
		open: sign{heard: "/t29"}, record: "http allowed.test:80", witness: func(s *seen) error { return unheard(s, "/t29", "denied.test") }}
	files, escape := requests("PX-037", 400, "file:///etc/passwd"), requests("PX-038", 400, "http://allowed.test/%zz")
	files[0].alone, escape[0].alone = "there is no host in it", careful
	secure := requests("PX-037", 403, "http://allowed.test:443/")
	secure[0].alone, secure[0].record = "an origin for TLS refuses it itself", "http allowed.test:443"
	return slices.Concat([]row{other}, files, escape, secure,
		requests("PX-036", 400, "http:allowed.test/x", "//denied.test/", "http:///x", "http:/x", "http://", "http://?x", "http://:80/"),
		requests("PX-037", 400, "https://allowed.test/", "ftp://allowed.test/", "gopher://allowed.test/", "ws://allowed.test/", "HTTP://allowed.test/"),
		requests("PX-038", 400, "http://allowed%2etest/", "http://allowed.test%00.evil.test/", "http://allowed.test\\@evil.test/", "http://evil.test#@allowed.test/", "http://u@allowed.test/",
			"http://allowed.test:80@evil.test/", "http://allowed.test/a#b"),
	)
}

// unheard: what a server got with a mark in it does not hold text.
func unheard(s *seen, mark, text string) error {
	for _, h := range s.heard {
		if bytes.Contains(h.First, []byte(mark)) && bytes.Contains(bytes.ToLower(h.First), []byte(strings.ToLower(text))) {
			return fmt.Errorf("the origin got %q: %q", text, h.First)
		}
	}
	return nil
}

// hostRows put a host that is no name everywhere where one can stand.
func hostRows() []row {
	var rows []row
	all := func(id string, code int, hosts ...string) {
		for _, h := range hosts {
			rows = append(rows, connect(id, fmt.Sprintf("%.40q by CONNECT", h), code, "CONNECT "+h+":443 HTTP/1.1\r\nHost: allowed.test\r\n\r\n"))
			get := requests(id, code, "http://"+h+"/")[0]
			get.what = fmt.Sprintf("%.40q by a request to the proxy", h)
			socks := row{id: id, what: fmt.Sprintf("%.40q by SOCKS5", h), want: closed, p: socksTo(socksName(h, 443), "origin ", inTLS("allowed.test")...), open: sign{reply: "origin "}, says: "\x05\x02", strict: code == 400, check: closes}
			direct := row{id: id, what: fmt.Sprintf("%.40q as Host", h), want: closed, p: talk("allowed.test:80", 4, "origin ", probe.Say("GET / HTTP/1.1\r\nHost: "+h+"\r\nConnection: close\r\n\r\n")),
				open: sign{reply: "origin "}, strict: code == 400, check: closes, family: "4"}
			if h == "xn--bcher-kva.test" {
				direct.says = status(403)
			}
			rows = append(rows, get, direct)
			if len(h) < 256 {
				rows = append(rows, socks)
			}
		}
	}
	all("PX-039", 400, "allowed\u3002test", "\uff41llowed.test", "allowed.test\u200b", "allowed\uff0etest", "b\u00fccher.test", "allowed.test\xff", "xn--a.test")
	all("PX-039", 403, "xn--bcher-kva.test")
	all("PX-040", 400, "allowed_.test", "allowed .test", "allowed\t.test", "*.allowed.test", "-allowed.test", "allowed-.test", strings.Repeat("a", 64)+".test",
		strings.Repeat("a.", 126)+"test", "al\x01lowed.test", "al\x7flowed.test", `"allowed.test"`, "allowed.test,evil.test")
	for i := range rows {
		if r := &rows[i]; strings.HasSuffix(r.what, "as Host") {
			r.alone = careful
		}
	}
	return rows
}

// careful: Go's own server, which stands for the origin, refuses these itself.
const careful = "the origin of this world is careful itself"

// framing are heads that two servers would read differently. A request follows them
// that one of the two would take for one of its own.
var framing = []struct{ id, what, fields string }{
	{"PX-032", "a length and chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked"},
	{"PX-032", "chunks and a length", "Transfer-Encoding: chunked\r\nContent-Length: 5"},
	{"PX-032", "chunks in disguise", "Content-Length: 5\r\nTransfer_Encoding: chunked"},
	{"PX-033", "two lengths", "Content-Length: 0\r\nContent-Length: 50"},
	{"PX-033", "two equal lengths", "Content-Length: 0\r\nContent-Length: 0"},
	{"PX-033", "a list of lengths", "Content-Length: 0, 50"},
	{"PX-033", "a length with a sign", "Content-Length: +0"},
	{"PX-033", "a length in hexadecimal", "Content-Length: 0x0"},
	{"PX-033", "a length with space in front", "Content-Length : 0"},
	{"PX-033", "xchunked", "Transfer-Encoding: xchunked"},
	{"PX-033", "chunked, identity", "Transfer-Encoding: chunked, identity"},
	{"PX-033", "a tab before chunked", "Transfer-Encoding: \tchunked"},
	{"PX-033", "chunked twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"},
	{"PX-033", "gzip, chunked", "Transfer-Encoding: gzip, chunked"},
	{"PX-033", "a folded line", "Transfer-Encoding:\r\n chunked"},
	{"PX-033", "a line feed in a value", "X: y\nTransfer-Encoding: chunked"},
	{"PX-033", "a carriage return in a value", "X: y\rTransfer-Encoding: chunked"},
	{"PX-033", "a NUL in a value", "X: y\x00\r\nTransfer-Encoding: chunked"},
	{"PX-033", "a space before the colon", "Transfer-Encoding : chunked"},
	{"PX-033", "Connection names the length", "Content-Length: 0\r\nConnection: Content-Length"},
}

// chunking are chunks of which the same is true.
var chunking = []struct{ what, body string }{
	{"a chunk with a sign", "+0\r\n\r\n"},
	{"a chunk that ends in a line feed", "1\nx\n0\r\n\r\n"},
	{"a chunk that is too long", "fffffffffffffffff\r\n"},
	{"a chunk longer than it says", "1\r\nxyz\r\n0\r\n\r\n"},
	{"an extension with a line feed", "0;\nx\r\n\r\n"},
	{"a trailer that frames the request", "0\r\nContent-Length: 5\r\n\r\n"},
}

// framingRows hide a second request behind a first. It is the second that a server
// behind the gate may never see.
func framingRows() []row {
	var rows []row
	smuggle := func(r row, to string, family int, head, body string) {
		mark := fmt.Sprintf("/smuggled-%03d", len(rows))
		raw := head + "\r\n\r\n" + body + "GET " + mark + " HTTP/1.1\r\nHost: denied.test\r\n\r\n"
		r.want, r.open, r.check = closed, sign{heard: mark + " "}, closes
		r.p = talk(to, family, "", probe.Step{Send: []byte(raw), Shut: true})
		rows = append(rows, r)
	}
	const straight, absolute = "POST / HTTP/1.1\r\nHost: allowed.test\r\n", "POST http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n"
	for _, f := range framing {
		r := row{id: f.id, what: f.what, says: status(400), strict: true}
		smuggle(r, "allowed.test:80", 4, straight+f.fields, "0\r\n\r\n")
		r.what += " to the proxy"
		smuggle(r, probe.Proxy4, 0, absolute+f.fields, "0\r\n\r\n")
	}
	for _, c := range chunking {
		smuggle(row{id: "PX-033", what: c.what}, "allowed.test:80", 4, straight+"Transfer-Encoding: chunked", c.body)
		smuggle(row{id: "PX-033", what: c.what + " to the proxy"}, probe.Proxy4, 0, absolute+"Transfer-Encoding: chunked", c.body)
	}
	return append(rows, bodyRows()...)
}

// bodyRows are requests of tunnels, and lines that do not end as they must.
func bodyRows() []row {
	var rows []row
	for _, field := range []string{"Content-Length: 5", "Content-Length: 0", "Transfer-Encoding: chunked"} {
		rows = append(rows, connect("PX-028", "CONNECT with "+field, 400, "CONNECT allowed.test:443 HTTP/1.1\r\nHost: allowed.test:443\r\n"+field+"\r\n\r\n"))
	}
	bare := strings.ReplaceAll("GET /smuggled-lf HTTP/1.1\r\nHost: allowed.test\r\n\r\n", "\r\n", "\n")
	return append(rows, row{id: "PX-033", what: "lines that end in a line feed", want: closed, p: talk("allowed.test:80", 4, "", probe.Step{Send: []byte(bare), Shut: true}),
		open: sign{heard: "/smuggled-lf"}, says: status(400), strict: true, check: closes, family: "4"})
}

// otherRows send to port 80 what is not HTTP.
func otherRows() []row {
	var rows []row
	for what, b := range map[string][]byte{
		"TLS on port 80": hello{mark: "t26p..", names: []string{"allowed.test"}}.record(),
		"SSH on port 80": []byte("SSH-2.0-t26p..\r\n"), "a request without a version on port 80": []byte("GET /t26p..\r\n"),
		"a version that nobody speaks on port 80": []byte("GET /t26p.. HTTP/3.0\r\nHost: allowed.test\r\n\r\n"), "SMTP on port 80": []byte("EHLO t26p..\r\n"),
	} {
		mark := fmt.Sprintf("t26p%02d", len(rows))
		raw := bytes.ReplaceAll(b, []byte("t26p.."), []byte(mark))
		step := probe.Step{Send: raw, Shut: true}
		rows = append(rows, row{id: "PX-026", what: what, want: closed, p: talk("allowed.test:80", 4, "", step), open: sign{heard: mark}, check: closes, family: "4"})
		mark = fmt.Sprintf("t26p%02d", len(rows))
		step.Send = bytes.ReplaceAll(b, []byte("t26p.."), []byte(mark))
		rows = append(rows, row{id: "PX-026", what: what + " by CONNECT", want: closed, p: tunnel(connectTo("allowed.test:80"), "", step), open: sign{heard: mark}, check: closes})
	}
	return rows
}

// sequenceRows send a second request over one connection.
func sequenceRows() []row {
	ok := "GET http://allowed.test/%s HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
	no := "GET http://denied.test/%s HTTP/1.1\r\nHost: denied.test\r\n\r\n"
	own := "GET /%s HTTP/1.1\r\nHost: %s\r\n\r\n"
	f := fmt.Sprintf
	one := func(s string) probe.Step { return probe.Step{Send: []byte(s), Shut: true} }
	first := func(s string) probe.Step { return probe.Step{Send: []byte(s), Until: "origin "} }
	var rows []row
	add := func(id, what, mark, says string, p probe.Probe) {
		rows = append(rows, row{id: id, what: what, want: closed, p: p, open: sign{heard: mark}, says: says, check: closes})
	}
	add("PX-027", "a request behind CONNECT to a denied host", "smuggled-27a", status(403), talk(probe.Proxy4, 0, "", one(connectTo("denied.test:443")+f(ok, "smuggled-27a"))))
	add("PX-027", "a request behind CONNECT to an allowed host", "smuggled-27c", "", talk(probe.Proxy4, 0, "", one(connectTo("allowed.test:80")+f(own, "smuggled-27c", "denied.test"))))
	add("PX-027", "a request behind a denied one", "smuggled-27d", status(403), talk(probe.Proxy4, 0, "", one(f(no, "x")+f(ok, "smuggled-27d"))))
	rows = append(rows, row{id: "PX-027", what: "CONNECT behind CONNECT to a denied host", want: closed, p: talk(probe.Proxy4, 0, "", one(connectTo("denied.test:443")+connectTo("allowed.test:443"))),
		open: sign{reply: established}, says: status(403), check: closes})
	add("PX-042", "a denied host behind an allowed one to the proxy", "smuggled-42a", "origin ", talk(probe.Proxy4, 0, "", one(f(ok, "")+f(no, "smuggled-42a"))))
	add("PX-042", "a denied host after an allowed one to the proxy", "smuggled-42b", "origin ", talk(probe.Proxy4, 0, "", first(f(ok, "")), one(f(no, "smuggled-42b"))))
	add("PX-042", "a denied host behind an allowed one", "smuggled-42c", status(403), talk("allowed.test:80", 4, "", one(f(own, "", "allowed.test")+f(own, "smuggled-42c", "denied.test"))))
	add("PX-042", "a denied host after an allowed one", "smuggled-42d", status(403), talk("allowed.test:80", 6, "", first(f(own, "", "allowed.test")), one(f(own, "smuggled-42d", "denied.test"))))
	add("PX-042", "an allowed host that is another", "smuggled-42e", status(403), talk("allowed.test:80", 4, "", first(f(own, "", "allowed.test")), one(f(own, "smuggled-42e", "a.wild.test"))))
	add("PX-042", "a denied host in the second request of a tunnel", "smuggled-42f", status(403),
		talk(probe.Proxy4, 0, "", probe.Step{Send: []byte(connectTo("allowed.test:80")), Until: established}, first(f(own, "", "allowed.test")), one(f(own, "smuggled-42f", "denied.test"))))
	return rows
}

// upgradeRows want to turn a request into something else.
func upgradeRows() []row {
	up := func(mark, fields string) row {
		return row{id: "PX-041", what: "an upgrade, " + mark, want: works, open: sign{heard: "/" + mark}, record: "http allowed.test:80",
			p: talk(probe.Proxy4, 0, "origin ", probe.Say("GET http://allowed.test/"+mark+" HTTP/1.1\r\nHost: allowed.test\r\n"+fields+"\r\n\r\n")),
			witness: func(s *seen) error {
				return errors.Join(unheard(s, "/"+mark, "upgrade"), unheard(s, "/"+mark, "x-injected"))
			}}
	}
	h2 := func(what, says string, list ...stream) row {
		return row{id: "PX-041", what: what, want: closed, p: talk("allowed.test:80", 4, "origin "+says, send(frames(list...))), open: sign{reply: "origin " + says}, check: closes, family: "4"}
	}
	straight := up("t41d", "Upgrade: websocket\r\nConnection: Upgrade, X-Injected\r\nX-Injected: 1")
	straight.what, straight.record, straight.family = "an upgrade, straight", "tcp allowed.test:80", "4"
	straight.p = talk("allowed.test:80", 4, "origin ", probe.Say("GET /t41d HTTP/1.1\r\nHost: allowed.test\r\nUpgrade: websocket\r\nConnection: Upgrade, X-Injected\r\nX-Injected: 1\r\n\r\n"))
	prior := row{id: "PX-041", what: "HTTP/2 to the proxy", want: closed, p: talk(probe.Proxy4, 0, "", probe.Step{Send: []byte(http2.ClientPreface), Shut: true}), open: sign{reply: "\x00\x00\x00\x04"}, says: status(505), strict: true, check: closes,
		alone: "the careless proxy speaks HTTP/1 too"}
	return []row{
		up("t41a", "Upgrade: websocket\r\nConnection: Upgrade, X-Injected\r\nX-Injected: 1"),
		up("t41b", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAAQAAP__"),
		up("t41c", "Upgrade: TLS/1.2\r\nConnection: Upgrade"),
		straight, prior,
		h2("HTTP/2 in the clear", "allowed.test", stream{1, "allowed.test", "/"}),
		h2("HTTP/2 with another name", "denied.test", stream{1, "denied.test", "/"}),
		h2("HTTP/2 with another name in the second request", "denied.test", stream{1, "allowed.test", "/"}, stream{3, "denied.test", "/"}),
		h2("HTTP/2 with another port", "allowed.test:8080", stream{1, "allowed.test:8080", "/"}),
	}
}

// stream is one request of HTTP/2.
type stream struct {
	id              uint32
	authority, path string
}

// frames is the beginning of a connection with these requests.
func frames(list ...stream) []byte {
	var out, block bytes.Buffer
	out.WriteString(http2.ClientPreface)
	fr := http2.NewFramer(&out, nil)
	fr.WriteSettings()
	enc := hpack.NewEncoder(&block)
	for _, s := range list {
		block.Reset()
		for _, f := range []hpack.HeaderField{{Name: ":method", Value: "GET"}, {Name: ":scheme", Value: "http"}, {Name: ":authority", Value: s.authority}, {Name: ":path", Value: s.path}} {
			enc.WriteField(f)
		}
		fr.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: bytes.Clone(block.Bytes()), EndStream: true, EndHeaders: true})
	}
	return out.Bytes()
}

// methodRows are methods that do more than they say.
func methodRows() []row {
	var rows []row
	for _, m := range []string{"TRACE", "get", "G\x00T", "GET\tX"} {
		p := talk("allowed.test:80", 4, "origin ", probe.Say(m+" /t45 HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n"))
		r := row{id: "PX-045", what: fmt.Sprintf("method %q", m), want: closed, p: p, open: sign{reply: "origin "}, says: status(400), strict: true, check: closes, family: "4"}
		if m == "TRACE" {
			r.says = status(501)
		}
		if strings.ContainsAny(m, "\x00\t") {
			r.alone = careful
		}
		rows = append(rows, r)
	}
	rows = append(rows, row{id: "PX-045", what: "CONNECT to an origin", want: closed, p: talk("allowed.test:80", 4, "origin ", probe.Say(connectTo("denied.test:443"))), open: sign{reply: "HTTP/1.1 200"}, says: status(405), strict: true, check: closes, family: "4",
		alone: "the origin of this world is no proxy"})
	for _, m := range []string{"PATCH", "PROPFIND", "PURGE", "M-SEARCH"} {
		p := talk("allowed.test:80", 4, "origin ", probe.Say(m+" / HTTP/1.1\r\nHost: allowed.test\r\nExpect: 100-continue\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx"))
		rows = append(rows, row{id: "PX-045", what: "method " + m + " with a rule for all", want: works, p: p, open: sign{reply: "origin "}, family: "4"})
	}
	return rows
}
