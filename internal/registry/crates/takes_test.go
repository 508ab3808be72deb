package crates

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

// nobody is asked.
type nobody struct{ t *testing.T }

func (n nobody) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("%s was asked", r.URL)
	return nil, http.ErrServerClosed
}

// However a crate is spelled, the question is the door's.
func TestTakesEverySpelling(t *testing.T) {
	d := &Door{Site: &upstream.Site{Base: &url.URL{Scheme: "https", Host: "r.test", Path: "/index"}, Trip: nobody{t}, Other: nobody{t}}, Named: true, Store: store.At(t.TempDir())}
	for _, path := range []string{"/index/ev/il/evil?x=1", "/index//ev/il/evil", "/index/./ev/il/evil", "/index/config.json?x", "/index/EV/il/evil", "/index/ev/il/%2565vil", "/index/crates/evil/evil-1.0.0.crate", "/index/evil/1.0.0/download", "//index/dl/evil/1.0.0/download"} {
		r := httptest.NewRequest("GET", "https://r.test"+path, nil)
		if !d.Takes(r) {
			t.Errorf("%s goes past the door", path)
		}
		w := httptest.NewRecorder()
		if d.ServeHTTP(w, r); w.Code != http.StatusForbidden && w.Code != http.StatusNotFound || w.Header().Get("X-Ringfence") == "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for path, want := range map[string]bool{"/index/ev/il/evil": true, "/index/%65v/il/evil": true, "/index/dl/evil/1.0.0%2Bx/download": true, "/index/me": false, "/ev/il/evil": false, "/index/api/v1/crates": false} {
		if got := d.Takes(httptest.NewRequest("GET", "https://r.test"+path, nil)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}
