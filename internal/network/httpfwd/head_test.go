package httpfwd_test

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// TestLines: the grammar of lines, where the traps have no row for it.
func TestLines(t *testing.T) {
	const host = "Host: allowed.test\r\n"
	for _, row := range []struct {
		name, raw string
		want      int
	}{
		{"bare LF", "GET / HTTP/1.1\n" + host + "\r\n", 400},
		{"bare LF at the end", "GET / HTTP/1.1\r\n" + host + "\n", 400},
		{"bare CR in the request line", "GET /\r HTTP/1.1\r\n" + host + "\r\n", 400},
		{"CR CR LF", "GET / HTTP/1.1\r\r\n" + host + "\r\n", 400},
		{"two spaces", "GET  / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"two spaces before the version", "GET /  HTTP/1.1\r\n" + host + "\r\n", 400},
		{"tab", "GET\t/ HTTP/1.1\r\n" + host + "\r\n", 400},
		{"space at the end", "GET / HTTP/1.1 \r\n" + host + "\r\n", 400},
		{"space at the beginning", " GET / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"HTTP/0.9", "GET /\r\n" + host + "\r\n", 400},
		{"version 0.9", "GET / HTTP/0.9\r\n" + host + "\r\n", 505},
		{"version 1.2", "GET / HTTP/1.2\r\n" + host + "\r\n", 505},
		{"version 2.0", "GET / HTTP/2.0\r\n" + host + "\r\n", 505},
		{"version 1.01", "GET / HTTP/1.01\r\n" + host + "\r\n", 400},
		{"version lower", "GET / http/1.1\r\n" + host + "\r\n", 400},
		{"no target", "GET HTTP/1.1\r\n" + host + "\r\n", 400},
		{"fold", "GET / HTTP/1.1\r\n" + host + "A: b\r\n c\r\n\r\n", 400},
		{"fold of the first", "GET / HTTP/1.1\r\n " + host + "\r\n", 400},
		{"space before colon", "GET / HTTP/1.1\r\nHost : allowed.test\r\n\r\n", 400},
		{"no colon", "GET / HTTP/1.1\r\n" + host + "A\r\n\r\n", 400},
		{"no name", "GET / HTTP/1.1\r\n" + host + ": a\r\n\r\n", 400},
		{"name with brackets", "GET / HTTP/1.1\r\n" + host + "A(b): c\r\n\r\n", 400},
		{"name not ASCII", "GET / HTTP/1.1\r\n" + host + "\xe9: c\r\n\r\n", 400},
		{"NUL in value", "GET / HTTP/1.1\r\n" + host + "A: b\x00c\r\n\r\n", 400},
		{"DEL in value", "GET / HTTP/1.1\r\n" + host + "A: b\x7fc\r\n\r\n", 400},
		{"CR in value", "GET / HTTP/1.1\r\n" + host + "A: b\rc\r\n\r\n", 400},
		{"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
		{"empty Host", "GET / HTTP/1.1\r\nHost:\r\n\r\n", 400},
		{"two Hosts", "GET / HTTP/1.1\r\n" + host + host + "\r\n", 400},
		{"Host and host", "GET / HTTP/1.1\r\n" + host + "hOST: denied.test\r\n\r\n", 400},
		{"no Host, absolute, 1.1", "GET http://allowed.test/ HTTP/1.1\r\n\r\n", 400},
		{"no Host, 1.0", "GET / HTTP/1.0\r\n\r\n", 400},
		{"Host with a bad port", "GET / HTTP/1.1\r\nHost: allowed.test:080\r\n\r\n", 400},
		{"Host with userinfo", "GET / HTTP/1.1\r\nHost: u@allowed.test\r\n\r\n", 400},
		{"Host behind a tab", "GET / HTTP/1.1\r\nHost:\tallowed.test\r\n\r\n", 400},
		{"two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"LF first", "\nGET / HTTP/1.1\r\n" + host + "\r\n", 400},
		{"star with GET", "GET * HTTP/1.1\r\n" + host + "\r\n", 400},
		{"target not ASCII", "GET /\xc3\xbc HTTP/1.1\r\n" + host + "\r\n", 400},
		{"trailer names framing", "POST / HTTP/1.1\r\n" + host + "Transfer-Encoding: chunked\r\nTrailer: a, Content-Length\r\n\r\n", 400},
		{"Connection is no list", "GET / HTTP/1.1\r\n" + host + "Connection: a b\r\n\r\n", 400},
		{"Connection lists much", "GET / HTTP/1.1\r\n" + host + "Connection: " + strings.Repeat("a,", 33) + "\r\n\r\n", 400},
		{"129 fields", "GET / HTTP/1.1\r\n" + host + strings.Repeat("A: b\r\n", 128) + "\r\n", 431},
		{"100 long fields", "GET / HTTP/1.1\r\n" + host + strings.Repeat("A: "+strings.Repeat("b", 1000)+"\r\n", 100) + "\r\n", 431},
		{"line one too long", "GET /" + strings.Repeat("a", 8<<10-len("GET / HTTP/1.1")+1) + " HTTP/1.1\r\n" + host + "\r\n", 414},

		{"128 fields", "GET / HTTP/1.1\r\n" + host + strings.Repeat("A: b\r\n", 127) + "\r\n", 0},
		{"longest line", "GET /" + strings.Repeat("a", 8<<10-len("GET / HTTP/1.1")) + " HTTP/1.1\r\n" + host + "\r\n", 0},
		{"empty line first", "\r\nGET / HTTP/1.1\r\n" + host + "\r\n", 0},
		{"star with OPTIONS", "OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 0},
		{"no Host, absolute, 1.0", "GET http://allowed.test/ HTTP/1.0\r\n\r\n", 0},
		{"no Host, CONNECT, 1.0", "CONNECT allowed.test:443 HTTP/1.0\r\n\r\n", 0},
		{"obs-text in value", "GET / HTTP/1.1\r\n" + host + "A: b\xe9\r\n\r\n", 0},
		{"no space after colon", "GET / HTTP/1.1\r\nHost:allowed.test:8080\r\nA:\r\n\r\n", 0},
		{"Host is an address", "GET / HTTP/1.1\r\nHost: [::1]:65535\r\n\r\n", 0},
		{"stray percent in a query", "GET /?100% HTTP/1.1\r\n" + host + "\r\n", 0},
		{"largest length", "POST / HTTP/1.1\r\n" + host + "Content-Length: 4611686018427387904\r\n\r\n", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := httpfwd.ReadHead(bufio.NewReader(strings.NewReader(row.raw)))
			if got := statusOf(t, err); got != row.want {
				t.Errorf("%.80q: %v, want %d", row.raw, err, row.want)
			}
		})
	}
}

// TestWrite: what the origin gets. The request is for host allowed.test.
func TestWrite(t *testing.T) {
	for _, row := range []struct{ name, raw, want string }{
		{"plain",
			"GET /a?b HTTP/1.1\r\nUser-Agent: x\r\nHost: allowed.test\r\nAccept:  */*\t\r\naccept: text/html\r\nX-Y:z\r\n\r\n",
			"GET /a?b HTTP/1.1\r\nHost: allowed.test\r\nUser-Agent: x\r\nAccept: */*\r\naccept: text/html\r\nX-Y: z\r\n\r\n"},
		{"hop by hop",
			"GET / HTTP/1.1\r\nHost: allowed.test\r\nConnection: keep-alive, x-a\r\nConnection: X-B\r\nKeep-Alive: 5\r\nX-A: 1\r\nX-B: 2\r\nX-C: 3\r\n" +
				"Proxy-Connection: keep-alive\r\nproxy-authorization: Basic eDp5\r\nProxy-Whatever: 1\r\nTE: trailers\r\nTrailer: a\r\n\r\n",
			"GET / HTTP/1.1\r\nHost: allowed.test\r\nX-C: 3\r\n\r\n"},
		{"close", "GET / HTTP/1.1\r\nHost: allowed.test\r\nConnection: Close\r\nA: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: allowed.test\r\nA: b\r\nConnection: close\r\n\r\n"},
		{"old", "GET / HTTP/1.0\r\nHost: allowed.test\r\n\r\n", "GET / HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n"},
		{"old, kept", "GET / HTTP/1.0\r\nHost: allowed.test\r\nConnection: keep-alive\r\n\r\n", "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"},
		{"length", "POST / HTTP/1.1\r\nContent-Length: 5\r\nHost: allowed.test\r\nA: b\r\n\r\n", "POST / HTTP/1.1\r\nHost: allowed.test\r\nA: b\r\nContent-Length: 5\r\n\r\n"},
		{"length of none", "POST / HTTP/1.1\r\nContent-Length: 0\r\nHost: allowed.test\r\n\r\n", "POST / HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 0\r\n\r\n"},
		{"chunked",
			"POST / HTTP/1.1\r\nTransfer-Encoding: CHUNKED\r\nHost: allowed.test\r\nTrailer: X-Sum\r\n\r\n",
			"POST / HTTP/1.1\r\nHost: allowed.test\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n"},
		{"expect", "PUT / HTTP/1.1\r\nHost: allowed.test\r\nExpect: 100-Continue\r\nContent-Length: 1\r\n\r\n",
			"PUT / HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n"},
		{"expect without a body", "GET / HTTP/1.1\r\nHost: allowed.test\r\nExpect: 100-continue\r\n\r\n", "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"},
		{"absolute", "GET http://allowed.test:80/a?b=http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", "GET /a?b=http://x/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n"},
		{"absolute without path", "GET http://allowed.test HTTP/1.1\r\nHost: x\r\n\r\n", "GET / HTTP/1.1\r\nHost: allowed.test\r\n\r\n"},
		{"absolute with query alone", "GET http://allowed.test?q HTTP/1.1\r\nHost: x\r\n\r\n", "GET /?q HTTP/1.1\r\nHost: allowed.test\r\n\r\n"},
		{"absolute OPTIONS", "OPTIONS http://allowed.test HTTP/1.1\r\nHost: x\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: allowed.test\r\n\r\n"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := written(t, mustRead(t, row.raw), "allowed.test"); got != row.want {
				t.Errorf("got  %q\nwant %q", got, row.want)
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	h := mustRead(t, hosted("allowed.test"))
	for _, host := range []string{"", "a\r\nB: c", "a b", "u@a", "a/b"} {
		if n, err := h.Write(io.Discard, host); err == nil || n != 0 {
			t.Errorf("%q was written", host)
		}
	}
	if _, err := mustRead(t, line("CONNECT", "allowed.test:443")).Write(io.Discard, "allowed.test"); err == nil {
		t.Error("CONNECT was written")
	}
}

func TestHeadTells(t *testing.T) {
	h := mustRead(t, "PUT /x HTTP/1.1\r\nHost: allowed.test:80\r\nAccept: "+strings.Repeat("a", 600)+"\r\nAccept: b\r\nExpect: 100-continue\r\nContent-Length: 7\r\n\r\n")
	if h.Method != "PUT" || h.Form != httpfwd.Origin || h.Target != "/x" || h.Authority != "" || h.Minor != 1 || h.Host != "allowed.test:80" ||
		h.Length != 7 || h.Close || !h.Expect || h.Upgrade || len(h.Accept) != 512 {
		t.Errorf("%+v", h)
	}
	if h = mustRead(t, "CONNECT [::1]:443 HTTP/1.0\r\n\r\n"); h.Form != httpfwd.Authority || h.Target != "" || h.Minor != 0 || h.Host != "" || !h.Close {
		t.Errorf("%+v", h)
	}
}

// TestCutShort: every way to end too early is told apart from the end between
// requests, and errors of reading come through.
func TestCutShort(t *testing.T) {
	all := "PUT /x HTTP/1.1\r\nHost: allowed.test\r\n\r\n"
	for n := 1; n < len(all); n++ {
		if _, err := httpfwd.ReadHead(bufio.NewReader(strings.NewReader(all[:n]))); err != io.ErrUnexpectedEOF {
			t.Errorf("%q: %v", all[:n], err)
		}
	}
	for _, none := range []string{"", "\r\n"} {
		if _, err := httpfwd.ReadHead(bufio.NewReader(strings.NewReader(none))); err != io.EOF {
			t.Errorf("%q: %v", none, err)
		}
	}
	broken := errors.New("broken")
	for n := range len(all) {
		r := io.MultiReader(strings.NewReader(all[:n]), iotest.ErrReader(broken))
		if _, err := httpfwd.ReadHead(bufio.NewReader(r)); !errors.Is(err, broken) {
			t.Errorf("%q: %v", all[:n], err)
		}
	}
}

// TestSplitAnywhere: a head that comes byte by byte is the same head.
func TestSplitAnywhere(t *testing.T) {
	all := "POST http://allowed.test/x HTTP/1.1\r\nHost: allowed.test\r\nA: " + strings.Repeat("b", 100) + "\r\nContent-Length: 5\r\n\r\n"
	want := written(t, mustRead(t, all), "allowed.test")
	h, err := httpfwd.ReadHead(bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(all)), 16))
	if err != nil {
		t.Fatal(err)
	}
	if got := written(t, h, "allowed.test"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestRefusedAtOnce: a client of another protocol waits for us after its first
// line; it gets its answer without sending more.
func TestRefusedAtOnce(t *testing.T) {
	for _, first := range []string{"SSH-2.0-OpenSSH_9.2\r\n", "GET /\n", "GET / HTTP/1.1\r\nA b: c\r\n", "GET / HTTP/1.1\r\n x\r\n"} {
		pr, pw := io.Pipe()
		go pw.Write([]byte(first))
		_, err := httpfwd.ReadHead(bufio.NewReader(pr))
		if got := statusOf(t, err); got != 400 {
			t.Errorf("%q: %v", first, err)
		}
		pr.Close()
	}
}

func TestValidAuthority(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "a.test:1": true, "1.2.3.4": true, "[::1]": true, "[::ffff:1.2.3.4]:80": true, strings.Repeat("a", 260): true,
		"": false, ":": false, ":80": false, "a:": false, "a:0": false, "a:80x": false, "[": false, "[]": false, "[a]": false, "[::1]:": false,
		"[::1]]": false, "[[::1]]": false, "a]": false, "a[::1]": false, "[::1%lo]": false, "a:65536": false, strings.Repeat("a", 261): false,
	} {
		if got := httpfwd.ValidAuthority(s); got != want {
			t.Errorf("%s: %v", strconv.Quote(s), got)
		}
	}
}

// TestWriteVia: a proxy gets the absolute form and its own login, never the client's.
func TestWriteVia(t *testing.T) {
	for raw, want := range map[string]string{
		"GET /a?b HTTP/1.1\r\nHost: x.test\r\nProxy-Authorization: Basic eDp5\r\nA: b\r\n\r\n":       "GET http://x.test/a?b HTTP/1.1\r\nHost: x.test\r\nProxy-Authorization: Basic b3du\r\nA: b\r\n\r\n",
		"OPTIONS * HTTP/1.1\r\nHost: x.test\r\n\r\n":                                                 "OPTIONS http://x.test HTTP/1.1\r\nHost: x.test\r\nProxy-Authorization: Basic b3du\r\n\r\n",
		"GET http://x.test/ HTTP/1.1\r\nHost: other.test\r\nConnection: Proxy-Authorization\r\n\r\n": "GET http://x.test/ HTTP/1.1\r\nHost: x.test\r\nProxy-Authorization: Basic b3du\r\n\r\n",
	} {
		h, err := httpfwd.ReadHead(bufio.NewReader(strings.NewReader(raw)))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if _, err := h.WriteVia(&b, "x.test", "Basic b3du"); err != nil || b.String() != want {
			t.Errorf("%q: %v\n%q", raw, err, b.String())
		}
		if _, err := h.WriteVia(&b, "x.test", "Basic\r\nx: y"); err == nil {
			t.Error("a login with a line end is written")
		}
	}
}
