package httpfwd_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// pass reads and passes on one answer, and returns what is left of the bytes.
func pass(method, text string) (out, rest string, err error) {
	r := bufio.NewReader(strings.NewReader(text))
	a, err := httpfwd.ReadAnswer(r, method)
	if err != nil {
		return "", "", err
	}
	var b bytes.Buffer
	n, err := a.Copy(&b, r, r)
	if n != int64(b.Len()) {
		err = errors.Join(err, errors.New("the count is wrong"))
	}
	left, _ := io.ReadAll(r)
	return b.String(), string(left), err
}

func TestAnswers(t *testing.T) {
	const next = "HTTP/1.1 200 OK\r\n\r\n"
	for name, c := range map[string]struct{ method, in, out, rest string }{
		"length":    {"GET", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nAlt-Svc: h3=\":443\"\r\n\r\nabc" + next, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", next},
		"any case":  {"GET", "HTTP/1.1 200 OK\r\naLT-sVC: clear\r\nUpgrade: h2c\r\nAlternate-Protocol: 443:quic\r\nContent-Length: 0\r\n\r\n" + next, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", next},
		"twice":     {"GET", "HTTP/1.1 200\r\nAlt-Svc: a\r\nX: 1\r\nAlt-Svc: b\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200\r\nX: 1\r\nContent-Length: 0\r\n\r\n", ""},
		"chunked":   {"GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nDigest: d\r\n\r\n" + next, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nDigest: d\r\n\r\n", next},
		"to HEAD":   {"HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + next, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", next},
		"HEAD, TE":  {"HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + next, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", next},
		"204":       {"GET", "HTTP/1.1 204 No Content\r\n\r\n" + next, "HTTP/1.1 204 No Content\r\n\r\n", next},
		"304":       {"GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n" + next, "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", next},
		"interim":   {"POST", "HTTP/1.1 100 Continue\r\nAlt-Svc: x\r\n\r\n" + next, "HTTP/1.1 100 Continue\r\n\r\n", next},
		"to close":  {"GET", "HTTP/1.0 200 OK\r\nAlt-Svc: x\r\n\r\nall of it\n" + next, "HTTP/1.0 200 OK\r\n\r\nall of it\n" + next, ""},
		"keeps":     {"GET", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\nContent-Length: 0\r\n\r\n", ""},
		"no reason": {"GET", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 200 \r\nContent-Length: 0\r\n\r\n", ""},
	} {
		out, rest, err := pass(c.method, c.in)
		if err != nil || out != c.out || rest != c.rest {
			t.Errorf("%s: %v\n got %q and %q\nwant %q and %q", name, err, out, rest, c.out, c.rest)
		}
	}
}

// What two readers could read in two ways is not passed on.
func TestAnswersOfTwoMeanings(t *testing.T) {
	for name, in := range map[string]string{
		"both lengths":     "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
		"two lengths":      "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n",
		"a list":           "HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\n\r\n",
		"a sign":           "HTTP/1.1 200 OK\r\nContent-Length: +3\r\n\r\n",
		"no number":        "HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n",
		"too long":         "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
		"another coding":   "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
		"chunked in 1.0":   "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
		"bare LF":          "HTTP/1.1 200 OK\nAlt-Svc: x\n\n",
		"LF in a field":    "HTTP/1.1 200 OK\r\nX: a\nAlt-Svc: x\r\n\r\n",
		"folded":           "HTTP/1.1 200 OK\r\nX: a\r\n Alt-Svc: x\r\n\r\n",
		"space in a name":  "HTTP/1.1 200 OK\r\nAlt-Svc : x\r\n\r\n",
		"no version":       "200 OK\r\n\r\n",
		"version 2":        "HTTP/2 200 OK\r\n\r\n",
		"0.9":              "<html>\r\n\r\n",
		"two digits":       "HTTP/1.1 20 OK\r\n\r\n",
		"no status":        "HTTP/1.1 600 OK\r\n\r\n",
		"another protocol": "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
		"a trailer":        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nAlt-Svc: x\r\n\r\n",
		"cut off":          "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
		"cut in the head":  "HTTP/1.1 200 OK\r\nContent-Le",
	} {
		if out, _, err := pass("GET", in); err == nil {
			t.Errorf("%s: passed as %q", name, out)
		}
	}
}

// FuzzAnswer holds what is passed on against another reader.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nAlt-Svc: x\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\nrest", "HTTP/1.1 304 N\r\nContent-Length: 5\r\n\r\n",
	} {
		f.Add("GET", s)
		f.Add("HEAD", s)
	}
	f.Fuzz(func(t *testing.T, method, in string) {
		if method != "GET" && method != "HEAD" {
			return
		}
		out, rest, err := pass(method, in)
		if err != nil {
			return
		}
		again, left, err := pass(method, out)
		if err != nil || again != out || left != "" {
			t.Fatalf("what passed once passes as something else: %q, %q, %v", again, left, err)
		}
		r := bufio.NewReader(strings.NewReader(out))
		resp, err := http.ReadResponse(r, &http.Request{Method: method})
		if err != nil {
			t.Fatalf("net/http cannot read %q: %v", out, err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatalf("net/http finds no end in %q: %v", out, err)
		}
		if tail, _ := io.ReadAll(r); len(tail) > 0 {
			t.Fatalf("net/http ends %q before %q", out, tail)
		}
		if resp.Header.Get("Alt-Svc") != "" || resp.Trailer.Get("Alt-Svc") != "" || !strings.HasSuffix(in, rest) {
			t.Fatalf("passed: %q", out)
		}
	})
}
