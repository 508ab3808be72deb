package httpfwd_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// trap is one input of the table of proxy traps. Rows whose verdict is a matter of
// policy have want 0: here they show what the decider gets to see, and that it is
// what the client wrote.
type trap struct {
	id, raw   string
	want      int    // status of the refusal
	authority string // with want 0
	host      string
}

// line makes a request of the proxy's form around a target.
func line(method, target string) string {
	return method + " " + target + " HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
}

// hosted makes a request with this Host.
func hosted(host string) string { return "GET / HTTP/1.1\r\nHost: " + host + "\r\n\r\n" }

func connects(id string, want int, targets ...string) (rows []trap) {
	for _, t := range targets {
		rows = append(rows, trap{id: id, raw: line("CONNECT", t), want: want, authority: t, host: "allowed.test"})
	}
	return rows
}

func gets(id string, want int, targets ...string) (rows []trap) {
	for _, t := range targets {
		rows = append(rows, trap{id: id, raw: line("GET", t), want: want})
	}
	return rows
}

// anyHost puts a host everywhere where one can stand.
func anyHost(id string, want int, hosts ...string) (rows []trap) {
	for _, h := range hosts {
		rows = append(rows,
			trap{id: id, raw: line("CONNECT", h+":443"), want: want, authority: h + ":443", host: "allowed.test"},
			trap{id: id, raw: line("GET", "http://"+h+"/"), want: want, authority: h, host: "allowed.test"},
			trap{id: id, raw: hosted(h), want: want, host: h})
	}
	return rows
}

func framed(id string, want int, methodAndTarget string, fields ...string) (rows []trap) {
	for _, f := range fields {
		rows = append(rows, trap{id: id, raw: methodAndTarget + " HTTP/1.1\r\nHost: allowed.test\r\n" + f + "\r\n\r\n", want: want})
	}
	return rows
}

func traps() []trap {
	return flat(
		connects("PX-002", 0, "denied.test:443"),
		connects("PX-003", 0, "allowed.test.:443"),
		connects("PX-004", 0, "allowed.test..:443", "allowed..test:443", ".allowed.test:443"),
		connects("PX-007", 0, "wild.test:443"),
		connects("PX-008", 0, "a.b.wild.test:443"),
		connects("PX-011", 400, "evil.test\x00.allowed.test:443", "evil.test\x00.wild.test:443"),
		connects("PX-017", 0, "203.0.113.10:443", "[2001:db8::1]:443"),
		connects("PX-020", 400, "[fe80::1%25eth0]:443", "[::1%25lo]:443", "[fe80::1%eth0]:443"),
		connects("PX-021", 400, "user@allowed.test:443", "allowed.test:443@evil.test:443", "user:pw@allowed.test:443"),
		connects("PX-022", 400, "allowed.test", "allowed.test:", "allowed.test:0443", "allowed.test:+443", "allowed.test:99999",
			"allowed.test:65536", "allowed.test:0", "allowed.test: 443", "allowed.test:443/x", "allowed.test:443?x", "allowed.test:443#x",
			"allowed.test:443:443", ":443", "[::1]", "[::1]443", "[::1", "::1:443", "allowed.test:44a", "allowed.test:18446744073709551617"),
		connects("PX-023", 400, "//evil.test:443", "/", "/path", "*", "http://allowed.test:443", "http://allowed.test:443/"),
		[]trap{{id: "PX-024", raw: "CONNECT allowed.test:443 HTTP/1.1\r\nHost: evil.test\r\n\r\n", authority: "allowed.test:443", host: "evil.test"}},
		connects("PX-025", 0, "allowed.test:22", "allowed.test:25", "allowed.test:6379", "allowed.test:8443"),
		framed("PX-028", 400, "CONNECT allowed.test:443", "Content-Length: 5", "Content-Length: 0", "Transfer-Encoding: chunked"),
		[]trap{{id: "PX-029", raw: "GET http://allowed.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n", authority: "allowed.test", host: "denied.test"}},
		framed("PX-032", 400, "POST /", "Content-Length: 4\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 4",
			"Transfer_Encoding: chunked\r\nContent-Length: 4", "Content_Length: 4"),
		framed("PX-033", 400, "POST /", "Content-Length: 4\r\nContent-Length: 5", "Content-Length: 4\r\nContent-Length: 4", "Content-Length: 4, 4",
			"Content-Length: +4", "Content-Length: -4", "Content-Length: 0x4", "Content-Length:", "Content-Length: 4 4", "Content-Length: 04",
			"Content-Length: 4_0", "Content-Length: 4611686018427387905", "Content-Length: 99999999999999999999", "Content-Length : 4",
			"Transfer-Encoding: xchunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: \tchunked", "Transfer-Encoding:\tchunked",
			"Transfer-Encoding: chunked\t", "Transfer-Encoding: chunked\x0b", "Transfer-Encoding: identity", "Transfer-Encoding:",
			"Transfer-Encoding: gzip, chunked", "Transfer-Encoding: chunked, chunked", "Transfer-Encoding: \"chunked\"",
			"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\n identity", "Transfer-Encoding : chunked",
			" Transfer-Encoding: chunked", "X: y\nTransfer-Encoding: chunked", "X: y\rTransfer-Encoding: chunked", "Connection: Content-Length",
			"Connection: close, transfer-encoding"),
		[]trap{{id: "PX-033", raw: "POST http://allowed.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", want: 400}},
		gets("PX-036", 400, "http:allowed.test/x", "//denied.test/", "http:///x", "http:/x", "http://", "http://?x", "http://:80/", "http://allowed.test//x"),
		gets("PX-037", 400, "https://allowed.test/", "ftp://allowed.test/", "gopher://allowed.test/", "ws://allowed.test/", "file:///etc/passwd", "HTTP://allowed.test/"),
		gets("PX-038", 400, "http://allowed%2etest/", "http://allowed.test%00.evil.test/", "http://allowed.test\\@evil.test/",
			"http://evil.test#@allowed.test/", "http://evil.test/#@allowed.test/", "http://u@allowed.test/", "http://allowed.test:80:80/", "/#x", "/a\\b", "/%", "/%4", "/%zz"),
		anyHost("PX-039", 400, "allowed。test", "ａllowed.test", "allowed.test\u200b", "\u212aelvin.test", "allowed.test\xff"),
		anyHost("PX-039", 0, "xn--bcher-kva.test"),
		anyHost("PX-040", 400, "all_owed.test", "allowed .test", "allowed\t.test", "*.test", "al\x01lowed.test", "al\x7flowed.test", `"allowed.test"`,
			"allowed.test,evil.test", "allowed.test;", strings.Repeat("a.", 150)+"test"),
		anyHost("PX-040", 0, "-x.test", "x-.test", strings.Repeat("a", 64)+".test"),
		framed("PX-041", 0, "GET /", "Upgrade: websocket\r\nConnection: Upgrade, X-Injected\r\nX-Injected: 1", "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAA"),
		[]trap{{id: "PX-041", raw: "\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", want: 505}, {id: "PX-041", raw: line("PRI", "/"), want: 400}},
		[]trap{{id: "PX-045", raw: line("TRACE", "/"), want: 501}, {id: "PX-045", raw: line("GET", "allowed.test:443"), want: 400}},
		framed("PX-045", 0, "PATCH /", "Expect: 100-continue\r\nContent-Length: 5"),
		framed("PX-045", 417, "PATCH /", "Expect: 200-ok\r\nContent-Length: 5", "Expect: 100-continue\r\nExpect: 100-continue", "Expect: y 100-continue"),
		framed("PX-045", 0, "PROPFIND /", "Depth: 1"), framed("PX-045", 0, "M-SEARCH /", "Man: x"),
		[]trap{{id: "PX-045", raw: line("get", "/"), want: 400}, {id: "PX-045", raw: line("G(T", "/"), want: 400}, {id: "PX-045", raw: line(strings.Repeat("A", 33), "/"), want: 400}},
		[]trap{{id: "PX-046", raw: line("GET", "/"+strings.Repeat("a", 1<<20)), want: 414}},
		framed("PX-046", 431, "GET /", strings.Repeat("a: b\r\n", 10_000)+"c: d", "a: "+strings.Repeat("b", 10<<20), strings.Repeat("a", 10<<20)+": b"),
	)
}

func flat(groups ...[]trap) (all []trap) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
}

// TestTraps reads each input with the smallest buffer, with the usual one and with
// one that holds all of it: the answer must not hang on where a buffer ends.
func TestTraps(t *testing.T) {
	for _, row := range traps() {
		t.Run(row.id, func(t *testing.T) {
			for _, size := range []int{16, 4096, 12 << 20} {
				h, err := httpfwd.ReadHead(bufio.NewReaderSize(strings.NewReader(row.raw), size))
				if got := statusOf(t, err); got != row.want {
					t.Fatalf("%.80q: status %d (%v), want %d", row.raw, got, err, row.want)
				}
				if row.want != 0 {
					if h != nil {
						t.Errorf("%.80q: a head came with %v", row.raw, err)
					}
					continue
				}
				if row.authority != "" && h.Authority != row.authority || row.host != "" && h.Host != row.host {
					t.Errorf("%.80q: authority %q, host %q", row.raw, h.Authority, h.Host)
				}
			}
		})
	}
}

func statusOf(t *testing.T, err error) int {
	t.Helper()
	var refused *httpfwd.Error
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &refused):
		t.Fatalf("%v is not a refusal", err)
	}
	return refused.Status
}

// TestPX026BytesAfterConnect: what follows a head stays in the reader.
func TestPX026BytesAfterConnect(t *testing.T) {
	for _, after := range []string{"SSH-2.0-x\r\n", "GET / HTTP/1.1\r\n\r\n", "\x16\x03", "\x15\x03\x03"} {
		r := bufio.NewReader(strings.NewReader(line("CONNECT", "allowed.test:443") + after))
		if _, err := httpfwd.ReadHead(r); err != nil {
			t.Fatal(err)
		}
		if rest, _ := io.ReadAll(r); string(rest) != after {
			t.Errorf("%q is left of %q", rest, after)
		}
	}
}

func TestPX027PipelinedAfterConnect(t *testing.T) {
	second := line("GET", "http://allowed.test/")
	r := bufio.NewReader(strings.NewReader(line("CONNECT", "denied.test:443") + second))
	h, err := httpfwd.ReadHead(r)
	if err != nil || h.Authority != "denied.test:443" || r.Buffered() != len(second) {
		t.Fatalf("%+v, %v, %d left", h, err, r.Buffered())
	}
	if got := httpfwd.Refusal(403, "Forbidden", "", httpfwd.Denial{}); !bytes.Contains(got, []byte("\r\nConnection: close\r\n")) {
		t.Errorf("the refusal keeps the connection: %q", got)
	}
}

// TestPX029HostRebuilt: the origin never sees the Host that was not judged.
func TestPX029HostRebuilt(t *testing.T) {
	h := mustRead(t, "GET http://allowed.test/x?y HTTP/1.1\r\nHost: denied.test\r\nA: b\r\n\r\n")
	if got, want := written(t, h, h.Authority), "GET /x?y HTTP/1.1\r\nHost: allowed.test\r\nA: b\r\n\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestPX041UpgradeIsDropped: no Upgrade, no field that Connection names.
func TestPX041UpgradeIsDropped(t *testing.T) {
	for _, what := range []string{"websocket", "h2c", "TLS/1.0"} {
		h := mustRead(t, "GET / HTTP/1.1\r\nHost: allowed.test\r\nupgrade: "+what+"\r\nConnection: Upgrade, X-Injected\r\nx-injected: 1\r\nHTTP2-Settings: AA\r\n\r\n")
		if got, want := written(t, h, "allowed.test"), "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"; got != want || !h.Upgrade {
			t.Errorf("%q, want %q (upgrade %v)", got, want, h.Upgrade)
		}
	}
}

// TestPX041Preface: the first line of HTTP/2 is refused with words, and needs no more
// than itself for that.
func TestPX041Preface(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	go io.WriteString(far, "PRI * HTTP/2.0\r\n")
	var refused *httpfwd.Error
	if _, err := httpfwd.ReadHead(bufio.NewReaderSize(near, 16)); !errors.As(err, &refused) || refused.Status != 505 || !strings.Contains(refused.Reason, "tcp://") {
		t.Fatalf("%v", err)
	}
}

// TestPX042AndPX043KeepAlive: each request is judged on its own. A client that follows a redirect sends a request
// of its own, and that is read as one.
func TestPX042AndPX043KeepAlive(t *testing.T) {
	r := bufio.NewReader(strings.NewReader(
		"POST / HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 5\r\n\r\nhello" +
			"\r\nPOST / HTTP/1.1\r\nHost: denied.test\r\nTransfer-Encoding: Chunked\r\n\r\n5;x=y\r\nGET /\r\n0\r\n\r\n" +
			"GET /latest HTTP/1.0\r\nHost: 169.254.169.254\r\nConnection: Keep-Alive\r\n\r\n"))
	for _, want := range []string{"allowed.test", "denied.test", "169.254.169.254"} {
		h, err := httpfwd.ReadHead(r)
		if err != nil || h.Host != want || h.Close {
			t.Fatalf("%+v, %v, want %s", h, err, want)
		}
		if _, err := httpfwd.CopyBody(io.Discard, r, nil, h); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := httpfwd.ReadHead(r); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// TestPX046MemoryIsBounded: a head without an end is refused before much is read.
func TestPX046MemoryIsBounded(t *testing.T) {
	for _, begin := range []string{"", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: "} {
		endless := &counting{fill: 'A', begin: strings.NewReader(begin)}
		_, err := httpfwd.ReadHead(bufio.NewReader(endless))
		if got := statusOf(t, err); got != 414 && got != 431 {
			t.Errorf("status %d", got)
		}
		if endless.n > 80<<10 {
			t.Errorf("%d bytes were read", endless.n)
		}
	}
}

// counting is a client that never stops.
type counting struct {
	begin io.Reader
	fill  byte
	n     int
}

func (c *counting) Read(p []byte) (int, error) {
	if n, _ := c.begin.Read(p); n > 0 {
		return n, nil
	}
	for i := range p {
		p[i] = c.fill
	}
	c.n += len(p)
	return len(p), nil
}

func mustRead(t testing.TB, raw string) *httpfwd.Head {
	t.Helper()
	h, err := httpfwd.ReadHead(bufio.NewReader(strings.NewReader(raw)))
	if err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	return h
}

func written(t testing.TB, h *httpfwd.Head, host string) string {
	t.Helper()
	var b bytes.Buffer
	if n, err := h.Write(&b, host); err != nil || n != int64(b.Len()) {
		t.Fatalf("Write = %d, %v", n, err)
	}
	return b.String()
}
