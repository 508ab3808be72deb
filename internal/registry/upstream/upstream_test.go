package upstream

import (
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/registry/store"
)

// with puts a login on requests.
type with struct{ sent *atomic.Int32 }

func (w with) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer CANARY")
	w.sent.Add(1)
	return http.DefaultTransport.RoundTrip(r)
}

// A registry that leads elsewhere gets nobody the login, and nobody to a place that is
// not asked.
func TestRedirects(t *testing.T) {
	stolen := ""
	other := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stolen = r.Header.Get("Authorization")
		io.WriteString(w, "elsewhere")
	}))
	defer other.Close()
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/base/own":
			http.Redirect(w, r, "/base/there", http.StatusFound)
		case "/base/there":
			io.WriteString(w, r.Header.Get("Authorization"))
		case "/base/other":
			http.Redirect(w, r, other.URL+"/x", http.StatusTemporaryRedirect)
		case "/base/loop":
			http.Redirect(w, r, "/base/loop", http.StatusFound)
		case "/base/user":
			http.Redirect(w, r, strings.Replace(other.URL, "://", "://a:b@", 1), http.StatusFound)
		case "/base/plain":
			http.Redirect(w, r, "http://127.0.0.9:1/", http.StatusFound)
		case "/base/file":
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		case "/base/bomb":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			io.Copy(z, io.LimitReader(zeros{}, 8<<20))
			z.Close()
		default:
			http.NotFound(w, r)
		}
	}))
	defer home.Close()
	base, _ := url.Parse(home.URL + "/base")
	s := &Site{Base: base, Trip: with{new(atomic.Int32)}, Other: other.Client().Transport, Login: true}
	get := func(path string) (string, error) {
		a, err := s.Get(context.Background(), Question{Path: path})
		if err != nil {
			return "", err
		}
		b, err := a.All(1 << 20)
		return string(b), err
	}
	if got, err := get("/own"); err != nil || got != "Bearer CANARY" {
		t.Errorf("own: %q, %v", got, err)
	}
	if got, err := get("/other"); err != nil || got != "elsewhere" || stolen != "" {
		t.Errorf("other: %q, %v, and the login %q", got, err, stolen)
	}
	for _, path := range []string{"/loop", "/user", "/plain", "/file", "/bomb"} {
		if got, err := get(path); err == nil {
			t.Errorf("%s: %.40q", path, got)
		}
	}
	if _, err := get("/nothing"); !IsMissing(err) {
		t.Errorf("nothing: %v", err)
	}
	s.Other = nil
	if _, err := get("/other"); err == nil {
		t.Error("nobody is there to ask")
	}
	s.Trip = nil
	if _, err := get("/own"); err != ErrOffline {
		t.Errorf("offline: %v", err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// An index is asked for once in a while, then only whether it changed.
func TestIndex(t *testing.T) {
	var bodies, asked atomic.Int32
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		w.Header().Set("ETag", `"one"`)
		if r.Header.Get("If-None-Match") == `"one"` {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		bodies.Add(1)
		io.WriteString(w, "index")
	}))
	defer home.Close()
	base, _ := url.Parse(home.URL)
	keep := store.At(t.TempDir())
	s := &Site{Base: base, Trip: http.DefaultTransport}
	for range 3 {
		if n, err := s.Index(context.Background(), keep, "k", Question{Path: "/x"}, 100); err != nil || string(n.Body) != "index" {
			t.Fatalf("%s, %v", n.Body, err)
		}
	}
	n, _ := keep.Note("k " + s.Name() + " /x")
	n.When = time.Now().Add(-time.Hour)
	keep.PutNote(n)
	if n, err := s.Index(context.Background(), keep, "k", Question{Path: "/x"}, 100); err != nil || string(n.Body) != "index" {
		t.Fatalf("%s, %v", n.Body, err)
	}
	if bodies.Load() != 1 || asked.Load() != 2 {
		t.Errorf("asked %d times, sent %d times", asked.Load(), bodies.Load())
	}
	if _, err := s.Index(context.Background(), keep, "k", Question{Path: "/long"}, 3); err == nil {
		t.Error("no bound")
	}
}
