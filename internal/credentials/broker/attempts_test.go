package broker

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"ringfence.dev/ringfence/internal/credentials/modelapi"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/wait"
)

// hostile is an upstream that counts the requests which reach it with the credential,
// and treats them badly.
type hostile struct {
	act func(n int) string // what becomes of the nth, from 1 on

	mu       sync.Mutex
	n        int // with the credential
	trailers int
	at       *url.URL
	client   *tls.Config
}

// serveHostile begins one that speaks "h2" or "http/1.1", by TLS.
func serveHostile(t *testing.T, protocol string, act func(n int) string) *hostile {
	t.Helper()
	certified := httptest.NewUnstartedServer(nil) // for its certificate
	certified.StartTLS()
	t.Cleanup(certified.Close)
	h := &hostile{act: act, client: certified.Client().Transport.(*http.Transport).TLSClientConfig.Clone()}
	h.client.ServerName = "example.com"
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates, NextProtos: []string{protocol}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	h.at = &url.URL{Scheme: "https", Host: l.Addr().String()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			if protocol == "h2" {
				go h.speak2(c)
			} else {
				go h.speak1(c)
			}
		}
	}()
	return h
}

// count is called for each request, and says what becomes of it.
func (h *hostile) count(key string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, text, ok := strings.Cut(key, "Basic "); ok { // as git sends it
		b, _ := base64.StdEncoding.DecodeString(text)
		key = string(b)
	}
	if !strings.Contains(key, "GENUINE") {
		return "ok"
	}
	h.n++
	return h.act(h.n)
}

func (h *hostile) counted() (requests, trailers int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n, h.trailers
}

const early = "answer before the body"

var statuses = map[string]int{"ok": 200, "401": 401, "429": 429, "307": 307, "503": 503, "ok, then close": 200}

func (h *hostile) speak1(c net.Conn) {
	defer c.Close()
	for in := bufio.NewReader(c); ; {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		key := r.Header.Get("Authorization") + r.Header.Get("X-Api-Key")
		if h.act(0) == early {
			h.count(key)
			io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
			return
		}
		io.Copy(io.Discard, r.Body)
		h.mu.Lock()
		h.trailers += len(r.Trailer)
		h.mu.Unlock()
		do := h.count(key)
		status := statuses[do]
		switch do {
		case "half":
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhal")
			return
		case "nonsense":
			io.WriteString(c, "nonsense\r\n\r\n")
			return
		case "101":
			io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-Websocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n")
			if next, err := http.ReadRequest(in); err == nil {
				io.WriteString(c, map[bool]string{true: "a key", false: "no key"}[strings.Contains(fmt.Sprint(next.Header), "GENUINE")])
			}
			return
		}
		if status == 0 { // it hangs up
			return
		}
		fmt.Fprintf(c, "HTTP/1.1 %d Word\r\nLocation: https://elsewhere.test/\r\nRetry-After: 0\r\nContent-Length: 2\r\n\r\n", status)
		if r.Method != http.MethodHead {
			io.WriteString(c, "ok")
		}
		if do == "ok, then close" {
			return
		}
	}
}

func (h *hostile) speak2(c net.Conn) {
	defer c.Close()
	if _, err := io.ReadFull(c, make([]byte, len(http2.ClientPreface))); err != nil {
		return
	}
	f := http2.NewFramer(c, c)
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.WriteSettings()
	keys, heads := map[uint32]string{}, map[uint32]bool{}
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return
		}
		ended := false
		switch frame := frame.(type) {
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.WriteSettingsAck()
			}
		case *http2.MetaHeadersFrame:
			id := frame.StreamID
			if _, begun := keys[id]; begun {
				h.mu.Lock()
				h.trailers++
				h.mu.Unlock()
			} else {
				heads[id] = frame.PseudoValue("method") == http.MethodHead
				for _, field := range frame.Fields {
					if field.Name == "x-api-key" || field.Name == "authorization" {
						keys[id] += field.Value
					}
				}
			}
			ended = frame.StreamEnded()
		case *http2.DataFrame:
			ended = frame.StreamEnded()
		}
		if id := frame.Header().StreamID; ended && !h.answer2(f, id, h.count(keys[id]), heads[id]) {
			return
		}
	}
}

// answer2 does one thing to a stream; false ends the connection.
func (h *hostile) answer2(f *http2.Framer, id uint32, do string, head bool) bool {
	switch do {
	case "refuse":
		f.WriteRSTStream(id, http2.ErrCodeRefusedStream)
		return true
	case "protocol":
		f.WriteRSTStream(id, http2.ErrCodeProtocol)
		return true
	case "reset":
		f.WriteRSTStream(id, http2.ErrCodeInternal)
		return true
	case "goaway":
		f.WriteGoAway(0, http2.ErrCodeNo, nil)
		return true
	case "goaway, close":
		f.WriteGoAway(0, http2.ErrCodeNo, nil)
		return false
	case "goaway, error":
		f.WriteGoAway(id-1, http2.ErrCodeEnhanceYourCalm, []byte("calm"))
		return false
	}
	status := statuses[do]
	if status == 0 {
		return false
	}
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	e.WriteField(hpack.HeaderField{Name: ":status", Value: fmt.Sprint(status)})
	e.WriteField(hpack.HeaderField{Name: "location", Value: "https://elsewhere.test/"})
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: head})
	if !head {
		f.WriteData(id, true, []byte("ok"))
	}
	return do != "ok, then close"
}

// renewing is a source that has another credential whenever it is called stale.
type renewing struct {
	mu sync.Mutex
	n  int
}

func (s *renewing) Get(context.Context) (Credential, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Credential{Secret: "test", Value: fmt.Sprintf("sk-GENUINE-GENUINE-GENUINE-%03d", s.n), Kind: "key"}, nil
}

func (s *renewing) Stale(Credential) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
}

// attemptStand is a model and a service in front of an upstream, and the count of
// records of what left.
func attemptStand(t *testing.T, h *hostile) (at string, phantom Phantom, records func() int) {
	t.Helper()
	w := newWire(Direct, nil)
	w.t.TLSClientConfig, w.old.TLSClientConfig = h.client, h.client
	var mu sync.Mutex
	left := 0
	record := func(r journal.Record) error {
		mu.Lock()
		defer mu.Unlock()
		if r.Verdict == journal.Allow && r.Secret != "" && r.Method != "" {
			left++
		}
		return nil
	}
	phantom = NewPhantom("sk-ant-api03-", 108)
	m := Model{API: modelapi.Anthropic, Name: "test", Upstream: h.at, Phantom: phantom, Source: &renewing{}, Allow: usual, Transport: w, Record: record}
	svc, err := serviceapi.New(serviceapi.Config{Kind: serviceapi.Bearer, Host: h.at.Host, Allow: []string{"* /**", "WEBSOCKET /ws"}})
	if err != nil {
		t.Fatal(err)
	}
	s := Service{Service: svc, Kind: serviceapi.Bearer, Name: "test", Upstream: h.at, Phantom: phantom, Source: &renewing{}, Transport: w, Record: record}
	_, at, _ = stand(t, nil, []Site{{Prefix: "/anthropic", Handler: m.Handler()}, {Prefix: "/service", Handler: s.Handler()}})
	return at, phantom, func() int { mu.Lock(); defer mu.Unlock(); return left }
}

// wanted are requests of a client, in raw form. %s is the phantom.
var wanted = map[string]string{
	"model": "POST /anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:809\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nContent-Length: 27\r\n\r\n" +
		`{"model":"m","messages":[]}`,
	"model, chunks and trailers": "POST /anthropic/v1/messages HTTP/1.1\r\nHost: 127.0.0.1:809\r\nX-Api-Key: %s\r\nContent-Type: application/json\r\nTrailer: X-Late\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"1b;ext=1\r\n" + `{"model":"m","messages":[]}` + "\r\n0\r\nX-Late: 1\r\n\r\n",
	"read": "GET /service/x HTTP/1.1\r\nHost: 127.0.0.1:809\r\nAuthorization: Bearer %s\r\n\r\n",
	"read, chunks and trailers": "GET /service/x HTTP/1.1\r\nHost: 127.0.0.1:809\r\nAuthorization: Bearer %s\r\nTrailer: X-Late\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"0\r\nX-Late: 1\r\n\r\n",
	"idempotent write": "POST /service/x HTTP/1.1\r\nHost: 127.0.0.1:809\r\nAuthorization: Bearer %s\r\nIdempotency-Key: 1\r\nContent-Length: 2\r\n\r\nhi",
	"head":             "HEAD /service/x HTTP/1.1\r\nHost: 127.0.0.1:809\r\nAuthorization: Bearer %s\r\n\r\n",
	"write, chunks and trailers": "PUT /service/x HTTP/1.1\r\nHost: 127.0.0.1:809\r\nAuthorization: Bearer %s\r\nTrailer: X-Late\r\nTransfer-Encoding: chunked\r\n\r\n" +
		"2\r\nhi\r\n0\r\nX-Late: 1\r\n\r\n",
}

// maxLeft is how often one request of a client may leave.
const maxLeft = 4

// Whatever an upstream does, each request that reaches it with the credential is in the
// journal, there are few of them for one of the client's, and no trailer is among them.
func TestOneRecordForEachRequest(t *testing.T) {
	ways := map[string][]string{
		"h2":       {"ok", "refuse", "protocol", "reset", "goaway", "goaway, close", "goaway, error", "close", "401", "429", "307", "503", "ok, then close"},
		"http/1.1": {"ok", "close", "401", "429", "307", "503", "half", "nonsense", "ok, then close", early},
	}
	for protocol, list := range ways {
		for _, way := range list {
			for _, first := range []string{way, "ok"} {
				t.Run(protocol+" "+first+" "+way, func(t *testing.T) {
					h := serveHostile(t, protocol, func(n int) string {
						if n == 1 {
							return first
						}
						return way
					})
					at, phantom, records := attemptStand(t, h)
					before, closes := 0, way == early || way == "ok, then close"
					for name, raw := range wanted {
						// Half a body after a HEAD belongs to no answer: the line is closed for it.
						races := closes || way == "half"
						for range 2 {
							exchange(t, at, fmt.Sprintf(raw, phantom))
							got, _ := h.counted()
							if got-before > maxLeft || got == before && !races {
								t.Errorf("%s: it left %d times", name, got-before)
							}
							before = got
							// What leaves on a line that is being closed may not be read there.
							if n := records(); n != got && !(races && n > got) {
								t.Fatalf("%s: %d requests reached the upstream with the credential, %d are in the journal", name, got, n)
							}
						}
					}
					if _, trailers := h.counted(); trailers != 0 {
						t.Errorf("%d trailers left", trailers)
					}
				})
			}
		}
	}
}

// exchange sends one request and waits for the end of its answer.
func exchange(t *testing.T, at, raw string) (status int) {
	t.Helper()
	status, err := answered(at, raw)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return status
}

// answered is the same, and says where there was no answer: one that is cut before its
// first byte cannot be told as such in any other way.
func answered(at, raw string) (status int, err error) {
	c, err := net.Dial("tcp", at)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	io.WriteString(c, raw)
	method, _, _ := strings.Cut(raw, " ")
	for in := bufio.NewReader(c); ; {
		resp, err := http.ReadResponse(in, &http.Request{Method: method})
		if err != nil {
			return 0, err
		}
		if resp.StatusCode != http.StatusContinue {
			defer resp.Body.Close()
			io.Copy(io.Discard, resp.Body) // it may be cut
			return resp.StatusCode, nil
		}
	}
}

// upgrade is a request for a WebSocket.
const upgrade = "GET /service/ws HTTP/1.1\r\nHost: 127.0.0.1:809\r\nAuthorization: Bearer %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-Websocket-Version: 13\r\n" +
	"Sec-Websocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"

// A WebSocket is one request, whatever an upstream answers to it and whatever is said on
// it: bytes that look like a request carry no credential of ours.
func TestRecordsOfWebSockets(t *testing.T) {
	for _, way := range []string{"101", "ok", "close", "401", "429", "307", "503", "half", "nonsense", "ok, then close"} {
		t.Run(way, func(t *testing.T) {
			h := serveHostile(t, "http/1.1", func(int) string { return way })
			at, phantom, records := attemptStand(t, h)
			for range 3 {
				c, err := net.Dial("tcp", at)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(c, upgrade, phantom)
				in := bufio.NewReader(c)
				resp, err := http.ReadResponse(in, nil)
				if err != nil {
					t.Fatal(err)
				}
				if (resp.StatusCode == http.StatusSwitchingProtocols) != (way == "101") {
					t.Fatalf("status %d", resp.StatusCode)
				}
				if way == "101" {
					fmt.Fprintf(c, wanted["read"], phantom) // as if it were a frame
					b := make([]byte, len("no key"))
					if _, err := io.ReadFull(in, b); err != nil || string(b) != "no key" {
						t.Errorf("the upstream got %q: %v", b, err)
					}
				}
				c.Close()
			}
			got, _ := h.counted()
			if n := records(); n != got && !(way == "ok, then close" && n > got) || got < 3 || got > 3*maxLeft {
				t.Errorf("%d requests reached the upstream with the credential, %d are in the journal", got, n)
			}
		})
	}
}

// A client that goes away at once: what left is in the journal, and it left once.
func TestRecordsOfClientsThatGo(t *testing.T) {
	for _, protocol := range []string{"h2", "http/1.1"} {
		for _, way := range []string{"ok", "close", "401", "half"} {
			h := serveHostile(t, protocol, func(int) string { return way })
			at, phantom, records := attemptStand(t, h)
			const clients = 20
			for n := range clients {
				c, err := net.Dial("tcp", at)
				if err != nil {
					t.Fatal(err)
				}
				raw := fmt.Sprintf(wanted["read"], phantom)
				if n%2 == 0 {
					raw = fmt.Sprintf(wanted["write, chunks and trailers"], phantom)
				}
				io.WriteString(c, raw)
				c.Close()
			}
			exchange(t, at, fmt.Sprintf(wanted["model"], phantom))
			if got, _ := h.counted(); records() < got || records() > (clients+1)*maxLeft {
				t.Errorf("%s, %s: %d requests reached the upstream with the credential, %d are in the journal", protocol, way, got, records())
			}
		}
	}
}

// The ways of git, of LFS, of STS and of renewals, which are no handlers of ours: each
// request that a transport of theirs sends is in the journal, and none that is not.
func TestRecordsOfTransports(t *testing.T) {
	ways := map[string][]string{
		"h2":       {"ok", "refuse", "protocol", "reset", "goaway", "goaway, close", "goaway, error", "close", "401", "307", "503"},
		"http/1.1": {"ok", "close", "401", "307", "503", "half", "nonsense"},
	}
	for protocol, list := range ways {
		for _, way := range list {
			for _, lasts := range []int{1 << 20, 1, 0} { // how many records the journal takes
				h := serveHostile(t, protocol, func(n int) string {
					if n == 1 {
						return "ok"
					}
					return way
				})
				w := newWire(Direct, nil)
				w.t.TLSClientConfig = h.client
				n := 0
				note := func(*http.Request, string) error {
					if n == lasts {
						return io.ErrShortWrite
					}
					n++
					return nil
				}
				for name, rt := range map[string]http.RoundTripper{"git": Carry(w, &renewing{}, "git", note), "lfs": Bare(Noted(w, note)), "sts": Noted(w, note)} {
					for _, method := range []string{"GET", "POST", "PUT"} {
						r, err := http.NewRequest(method, h.at.String()+"/x", strings.NewReader("hi"))
						if err != nil {
							t.Fatal(err)
						}
						if r.Header.Set("X-Api-Key", "GENUINE, given out"); name == "git" {
							r.Header.Del("X-Api-Key")
						}
						before, _ := h.counted()
						if resp, err := rt.RoundTrip(r); err == nil {
							io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
						if got, _ := h.counted(); got != n || got-before > maxLeft {
							t.Fatalf("%s, %s, %s %s: %d requests reached the upstream, %d are in the journal", protocol, way, name, method, got, n)
						}
					}
				}
			}
		}
	}
}

// What cannot be written down does not leave, the second time no more than the first.
func TestUnrecordedDoesNotLeave(t *testing.T) {
	for _, lasts := range []int{0, 1} {
		h := serveHostile(t, "h2", func(int) string { return "refuse" })
		w := newWire(Direct, nil)
		w.t.TLSClientConfig = h.client
		n := 0
		m := Model{API: modelapi.Anthropic, Name: "test", Upstream: h.at, Phantom: "phantom-phantom-phantom", Source: &renewing{}, Allow: usual, Transport: w,
			Record: func(r journal.Record) error {
				if r.Verdict == journal.Allow {
					if n++; n > lasts {
						return io.ErrShortWrite
					}
				}
				return nil
			}}
		_, at, _ := stand(t, nil, []Site{{Prefix: "/anthropic", Handler: m.Handler()}})
		status := exchange(t, at, fmt.Sprintf(wanted["model"], "phantom-phantom-phantom"))
		if left, _ := h.counted(); left != lasts || status != http.StatusServiceUnavailable {
			t.Errorf("a journal that takes %d records: it left %d times, status %d", lasts, left, status)
		}
	}
}

// The same for many clients at once, who share connections that an upstream closes when
// it likes.
func TestRecordsOfACrowd(t *testing.T) {
	moods := map[string][]string{
		"h2":       {"ok", "ok", "refuse", "ok", "goaway", "401", "ok", "reset", "429", "goaway, close"},
		"http/1.1": {"ok", "ok", "close", "ok", "401", "half", "ok", "ok, then close"},
	}
	for protocol, list := range moods {
		t.Run(protocol, func(t *testing.T) {
			h := serveHostile(t, protocol, func(n int) string { return list[n%len(list)] })
			at, phantom, records := attemptStand(t, h)
			const clients, each = 20, 8
			var all sync.WaitGroup
			for c := range clients {
				all.Go(func() {
					for n := range each {
						raw := wanted["read"]
						if (c+n)%2 == 0 {
							raw = wanted["model, chunks and trailers"]
						}
						answered(at, fmt.Sprintf(raw, phantom)) // which another's GOAWAY may have cut
					}
				})
			}
			all.Wait()
			got, trailers := h.counted()
			if n := records(); n < got || n > clients*each*maxLeft || trailers > 0 {
				t.Errorf("%d requests reached the upstream, %d are in the journal, %d trailers", got, n, trailers)
			}
			t.Logf("%d requests for %d, %d records", got, clients*each, records())
		})
	}
}

// Lines that nobody uses are few, and one that is used again is not opened anew.
func TestLinesAreKept(t *testing.T) {
	for _, protocol := range []string{"h2", "http/1.1"} {
		h := serveHostile(t, protocol, func(int) string { return "ok" })
		w := newWire(Direct, nil)
		w.t.TLSClientConfig = h.client
		ask := func() {
			r, err := http.NewRequest("GET", h.at.String()+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := w.RoundTrip(r)
			if err != nil {
				t.Error(err)
				return
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		for range 20 {
			ask()
		}
		count := func() (n int) {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, l := range w.lines {
				n += len(l)
			}
			return n
		}
		// A line is free again a moment after its answer was read: the next request may
		// come first, and then there is one more.
		if n := count(); n < 1 || n > 3 {
			t.Errorf("%s: one request after the other needs %d lines", protocol, n)
		}
		var all sync.WaitGroup
		for range 3 * maxIdle {
			all.Go(ask)
		}
		all.Wait()
		if !wait.For(func() bool { return count() <= maxIdle }) {
			t.Errorf("%s: %d lines are kept", protocol, count())
		}
	}
}

// What is sent again, and what is not: what the server did not look at, what only reads
// on a line that may have been old, and what was refused for a credential that has been
// renewed since.
func TestSentAgain(t *testing.T) {
	for _, c := range []struct {
		protocol, request string
		acts              []string // the last goes on
		status, left      int      // of the last request; of all
		asks              int
	}{
		{"h2", "model", []string{"refuse", "ok"}, 200, 2, 1},
		{"h2", "model", []string{"goaway", "ok"}, 200, 2, 1},
		{"h2", "model", []string{"401", "ok"}, 200, 2, 1},
		{"h2", "model", []string{"401", "refuse", "ok"}, 200, 3, 1},
		{"h2", "model", []string{"refuse", "401", "refuse", "ok"}, 200, 4, 1},
		{"h2", "model", []string{"refuse"}, 502, 2, 1},
		{"h2", "model", []string{"reset", "ok"}, 502, 1, 1},
		{"h2", "model", []string{"protocol", "ok"}, 502, 1, 1},
		{"h2", "model", []string{"close", "ok"}, 502, 1, 1},
		{"h2", "model", []string{"429", "ok"}, 429, 1, 1},
		{"h2", "model", []string{"307", "ok"}, 307, 1, 1},
		{"h2", "write, chunks and trailers", []string{"refuse", "ok"}, 502, 1, 1},
		{"http/1.1", "model", []string{"close", "ok"}, 502, 1, 1},
		{"http/1.1", "model", []string{"ok", "close", "ok"}, 502, 2, 2},
		{"http/1.1", "idempotent write", []string{"ok", "close", "ok"}, 502, 2, 2},
		{"http/1.1", "read", []string{"close", "ok"}, 502, 1, 1},
		{"http/1.1", "read", []string{"ok", "close", "ok"}, 200, 3, 2},
		{"http/1.1", "read", []string{"401", "ok"}, 200, 2, 1},
	} {
		t.Run(fmt.Sprint(c.protocol, " ", c.request, " ", c.acts), func(t *testing.T) {
			h := serveHostile(t, c.protocol, func(n int) string { return c.acts[min(max(n, 1), len(c.acts))-1] })
			at, phantom, records := attemptStand(t, h)
			status := 0
			for range c.asks {
				status = exchange(t, at, fmt.Sprintf(wanted[c.request], phantom))
			}
			if left, _ := h.counted(); status != c.status || left != c.left || records() != left {
				t.Errorf("status %d, it left %d times, %d records", status, left, records())
			}
		})
	}
}
