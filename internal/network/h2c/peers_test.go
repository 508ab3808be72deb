package h2c_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/internal/network/h2c"
)

// house is a gate between a client and a real server of net/http.
type house struct {
	gate   string // its address
	mu     sync.Mutex
	judged []string
	ends   chan error // how each connection ended
}

var errDenied = errors.New("denied")

// judge allows allowed.test and keeps a list.
func (h *house) judge(method, scheme, authority, path string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.judged = append(h.judged, fmt.Sprintf("%s %s://%s%s", method, scheme, authority, path))
	if authority != "allowed.test" {
		return errDenied
	}
	return nil
}

func (h *house) sawOnly(t *testing.T, want ...string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if strings.Join(h.judged, ", ") != strings.Join(want, ", ") {
		t.Errorf("judged %q, want %q", h.judged, want)
	}
}

// newHouse builds one; handler is the origin.
func newHouse(t *testing.T, handler http.HandlerFunc) *house {
	t.Helper()
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	server := &http.Server{Handler: handler, Protocols: &protocols}
	origin := listen(t)
	go server.Serve(origin)
	t.Cleanup(func() { server.Close() })
	h := &house{ends: make(chan error, 16)}
	gate := listen(t)
	h.gate = gate.Addr().String()
	go func() {
		for {
			client, err := gate.Accept()
			if err != nil {
				return
			}
			go h.relay(client, origin.Addr().String())
		}
	}()
	return h
}

func (h *house) relay(client net.Conn, origin string) {
	defer client.Close()
	server, err := net.Dial("tcp", origin)
	if err != nil {
		h.ends <- err
		return
	}
	defer server.Close()
	go io.Copy(client, server)
	_, err = h2c.Copy(server, client, h.judge)
	h.ends <- err
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// client is net/http's, over one connection to the gate whatever the name.
func (h *house) client(t *testing.T) *http.Client {
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	tr := &http.Transport{Protocols: &protocols, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, h.gate)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestGoClient(t *testing.T) {
	h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
		sum := sha256.New()
		n, _ := io.Copy(sum, r.Body)
		fmt.Fprintf(w, "%s %d %x %s", r.Proto, n, sum.Sum(nil), r.Trailer.Get("X-End"))
	})
	c := h.client(t)
	body := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	want := fmt.Sprintf("HTTP/2.0 %d %x yes", len(body), sha256.Sum256(body))
	for i := range 3 {
		req, _ := http.NewRequest("POST", fmt.Sprintf("http://allowed.test/up?%d", i), io.NopCloser(bytes.NewReader(body)))
		req.Trailer = http.Header{"X-End": {"yes"}}
		for j := range 30 { // more than one frame of fields
			req.Header.Set(fmt.Sprintf("X-Filler-%d", j), strings.Repeat("~", 1000))
		}
		resp, err := c.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if string(got) != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	c.CloseIdleConnections()
	if err := <-h.ends; err != nil {
		t.Errorf("the connection ended with %v", err)
	}
	h.sawOnly(t, "POST http://allowed.test/up?0", "POST http://allowed.test/up?1", "POST http://allowed.test/up?2")
}

// TestManyStreams: requests at the same time on one connection, with the tables of
// HPACK in use.
func TestManyStreams(t *testing.T) {
	h := newHouse(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.URL.Query().Get("n")) })
	c := h.client(t)
	var wg sync.WaitGroup
	for n := range 200 {
		wg.Go(func() {
			req, _ := http.NewRequest("GET", fmt.Sprintf("http://allowed.test/?n=%d", n), nil)
			req.Header.Set("X-Common", "the same in each")
			req.Header.Set("X-Own", fmt.Sprint(n))
			resp, err := c.Do(req)
			if err != nil {
				t.Error(err)
				return
			}
			defer resp.Body.Close()
			if got, _ := io.ReadAll(resp.Body); string(got) != fmt.Sprint(n) {
				t.Errorf("%q, want %d", got, n)
			}
		})
	}
	wg.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.judged) != 200 {
		t.Errorf("%d requests were judged", len(h.judged))
	}
}

// TestSecondStreamDenied: the verdict on the first request is not one on the
// connection.
func TestSecondStreamDenied(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, r.Host)
	})
	c := h.client(t)
	resp, err := c.Get("http://allowed.test/1")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	req, _ := http.NewRequest("GET", "http://allowed.test/2", nil)
	req.Host = "denied.test" // the same connection, another :authority
	if resp, err := c.Do(req); err == nil {
		t.Errorf("denied.test answered %s", resp.Status)
	}
	if err := <-h.ends; !errors.Is(err, errDenied) || errors.Is(err, h2c.ErrMalformed) {
		t.Errorf("the connection ended with %v", err)
	}
	h.sawOnly(t, "GET http://allowed.test/1", "GET http://denied.test/2")
	mu.Lock()
	defer mu.Unlock()
	if strings.Join(seen, " ") != "allowed.test" {
		t.Errorf("the origin saw %q", seen)
	}
}

// curl runs the real one against the gate.
func (h *house) curl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	path, err := exec.LookPath("curl")
	if err != nil {
		t.Fatal("curl is not installed: make tools")
	}
	if v, _ := exec.Command(path, "--version").Output(); !strings.Contains(string(v), "HTTP2") {
		t.Fatal("this curl does not speak HTTP/2")
	}
	all := append([]string{"-sS", "--max-time", "20", "--noproxy", "*", "--http2-prior-knowledge", "--connect-to", "::" + h.gate}, args...)
	out, err := exec.Command(path, all...).CombinedOutput()
	return string(out), err
}

func TestCurl(t *testing.T) {
	h := newHouse(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%s %s %s %d;", r.Proto, r.Method, r.URL.Path, n)
	})
	// One URL at a time: curl 7.88 cannot use such a connection twice, gate or not.
	out, err := h.curl(t, "http://allowed.test/a")
	if want := "HTTP/2.0 GET /a 0;"; err != nil || out != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
	out, err = h.curl(t, "--data-binary", strings.Repeat("x", 100_000), "http://allowed.test/c")
	if want := "HTTP/2.0 POST /c 100000;"; err != nil || out != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
	if out, err := h.curl(t, "http://allowed.test/d", "-H", "Host: denied.test"); err == nil {
		t.Errorf("denied.test answered %q", out)
	}
	h.sawOnly(t, "GET http://allowed.test/a", "POST http://allowed.test/c", "GET http://denied.test/d")
}
