package httpfwd_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// headSeeds are the traps of moderate size and some whole requests.
func headSeeds() (seeds []string) {
	for _, row := range traps() {
		if len(row.raw) < 1<<10 {
			seeds = append(seeds, row.raw)
		}
	}
	return append(seeds,
		"\r\nGET /a?b#c HTTP/1.1\r\nHost: a\r\n\r\n",
		"OPTIONS * HTTP/1.0\r\nHost: [::1]:1\r\nConnection: keep-alive\r\n\r\n",
		"POST http://a:1?x HTTP/1.0\r\nConnection: close, a ,,b\r\nA: 1\r\nB: 2\r\nTE: trailers\r\nContent-Length: 0\r\n\r\nrest",
		"PUT /%41 HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTrailer: x, y\r\nHost: a\r\nExpect: 100-continue\r\nProxy-X: y\r\nAccept: \xff\r\n\r\n",
	)
}

// FuzzReadHead: a head that is accepted means the same to net/http after it was
// written anew, and to ourselves.
func FuzzReadHead(f *testing.F) {
	for _, s := range headSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bufio.NewReader(bytes.NewReader(raw))
		h, err := httpfwd.ReadHead(r)
		checkSizes(t, raw, h, err)
		if err != nil {
			checkError(t, raw, err)
			return
		}
		rest, _ := io.ReadAll(r)
		if !bytes.HasSuffix(bytes.TrimSuffix(raw, rest), []byte("\r\n\r\n")) {
			t.Fatalf("%q ended elsewhere than its head", raw)
		}
		checkBounds(t, h)
		if req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(raw))); err == nil && (req.Method != h.Method || req.ContentLength != h.Length) {
			t.Fatalf("net/http sees %+v in %q, we %+v", req, raw, h)
		}
		if h.Form == httpfwd.Authority {
			if host, port, err := net.SplitHostPort(h.Authority); err != nil || host == "" || port == "" {
				t.Fatalf("CONNECT %q: %v", h.Authority, err)
			}
			return
		}
		host := h.Host
		if h.Form == httpfwd.Absolute {
			host = h.Authority
		}
		out := written(t, h, host)
		checkStandard(t, out, h, host)
		checkAgain(t, out, h, host)
	})
}

// checkSizes: where buffers end makes no difference.
func checkSizes(t *testing.T, raw []byte, h *httpfwd.Head, err error) {
	t.Helper()
	again, errAgain := httpfwd.ReadHead(bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(raw)), 16))
	if !reflect.DeepEqual(err, errAgain) {
		t.Fatalf("%v in one piece, %v in many", err, errAgain)
	}
	if !reflect.DeepEqual(h, again) {
		t.Fatalf("%+v in one piece, %+v in many", h, again)
	}
}

func checkError(t *testing.T, raw []byte, err error) {
	t.Helper()
	var refused *httpfwd.Error
	switch {
	case errors.As(err, &refused):
		if !slices.Contains([]int{400, 414, 417, 431, 501, 505}, refused.Status) {
			t.Fatalf("status %d", refused.Status)
		}
	case err == io.EOF:
		if len(raw) > 2 {
			t.Fatalf("%q is not nothing", raw)
		}
	case err != io.ErrUnexpectedEOF:
		t.Fatal(err)
	}
}

func checkBounds(t *testing.T, h *httpfwd.Head) {
	t.Helper()
	if len(h.Method) > 32 || len(h.Authority) > 260 || len(h.Host) > 260 || len(h.Target) > 8<<10 || len(h.Accept) > 512 || h.Length < -1 || h.Length > 1<<62 {
		t.Fatalf("out of bounds: %+v", h)
	}
	if strings.ContainsAny(h.Authority+h.Host, "@%\\#/?, \t_") {
		t.Fatalf("authority %q, host %q", h.Authority, h.Host)
	}
	if h.Minor == 1 && h.Host == "" {
		t.Fatal("no host")
	}
}

var rebuilt = regexp.MustCompile(`(?im)^(host|content[-_]length|transfer[-_]encoding|connection|expect):`)

// checkStandard: net/http sees the request that we mean, and so does anybody who
// takes the first or the last of two fields: there are no two.
func checkStandard(t *testing.T, out string, h *httpfwd.Head, host string) {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(out)))
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", out, err)
	}
	if req.Method != h.Method || req.Host != host || req.RequestURI != h.Target || req.ContentLength != h.Length || req.Close != h.Close ||
		(h.Length == httpfwd.Chunked) != slices.Equal(req.TransferEncoding, []string{"chunked"}) {
		t.Fatalf("net/http sees %+v in %q of %+v", req, out, h)
	}
	seen := map[string]bool{}
	for _, name := range rebuilt.FindAllString(out, -1) {
		if name = strings.ToLower(name); seen[name] || strings.Contains(name, "_") {
			t.Fatalf("two of %s in %q", name, out)
		}
		seen[name] = true
	}
	for _, name := range []string{"Keep-Alive", "TE", "Upgrade", "Proxy-Connection", "Proxy-Authorization", "HTTP2-Settings"} {
		if req.Header.Get(name) != "" {
			t.Fatalf("%s passed in %q", name, out)
		}
	}
}

// checkAgain: our own output is read as the same head, and writing it changes
// nothing more.
func checkAgain(t *testing.T, out string, h *httpfwd.Head, host string) {
	t.Helper()
	again := mustRead(t, out)
	if got := written(t, again, host); got != out {
		t.Fatalf("%q becomes %q", out, got)
	}
	if again.Method != h.Method || again.Target != h.Target || again.Host != host || again.Length != h.Length || again.Close != h.Close || again.Expect != h.Expect || again.Upgrade {
		t.Fatalf("%+v becomes %+v", h, again)
	}
}

// FuzzChunked: a chunked body that is accepted is the same data and the same end
// to net/http, before and after it was written anew.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{
		"0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n", "00A;x=\"y\"\r\n0123456789\r\n0;z\r\nA: b\r\n\r\n", "1\r\nx\n0\r\n\r\n", "1 \r\nx\r\n0\r\n\r\n",
		"0\r\nContent-Length: 5\r\n\r\n", "0\r\nx_y: z\r\n\r\n", "ffffffffffffffff\r\n", "2\r\n\r\n\r\n0\r\n\r\n", "1;\r\nx\r\n000\r\n\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var out bytes.Buffer
		r := bufio.NewReader(bytes.NewReader(raw))
		n, err := httpfwd.CopyBody(&out, r, nil, chunked)
		if n != int64(out.Len()) || out.Len() > 2*len(raw)+8 {
			t.Fatalf("%d of %d bytes, from %d", n, out.Len(), len(raw))
		}
		var small bytes.Buffer
		_, errSmall := httpfwd.CopyBody(&small, bufio.NewReaderSize(iotest.OneByteReader(bytes.NewReader(raw)), 16), nil, chunked)
		if !reflect.DeepEqual(err, errSmall) || err == nil && !bytes.Equal(out.Bytes(), small.Bytes()) {
			t.Fatalf("%q, %v in one piece, %q, %v in many", out.Bytes(), err, small.Bytes(), errSmall)
		}
		if err != nil {
			return
		}
		rest, _ := io.ReadAll(r)
		was := standardBody(t, bytes.TrimSuffix(raw, rest))
		if is := standardBody(t, out.Bytes()); is != was {
			t.Fatalf("%q becomes %q", was, is)
		}
		var again bytes.Buffer
		if _, err := httpfwd.CopyBody(&again, bufio.NewReader(&out), nil, chunked); err != nil || standardBody(t, again.Bytes()) != was {
			t.Fatalf("our own output: %v", err)
		}
	})
}

// standardBody reads a chunked body with net/http; all of it must be the body.
func standardBody(t *testing.T, body []byte) string {
	t.Helper()
	const head = "POST / HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\n"
	r := bufio.NewReaderSize(io.MultiReader(strings.NewReader(head), bytes.NewReader(body), strings.NewReader("NEXT")), 64<<10)
	req, err := http.ReadRequest(r)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", body, err)
	}
	if rest, _ := io.ReadAll(r); string(rest) != "NEXT" {
		t.Fatalf("net/http leaves %q of %q", rest, body)
	}
	return string(data)
}
