package npm

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

// However a package is spelled, the question is the door's: what is not goes past the
// brakes. What is not its plain address is refused.
func TestTakesEverySpelling(t *testing.T) {
	d := &Door{Site: &upstream.Site{Base: &url.URL{Scheme: "https", Host: "r.test", Path: "/npm"}, Trip: nobody{t}, Other: nobody{t}}, Store: store.At(t.TempDir()), Brake: rules()}
	for _, path := range []string{"/npm/evil/-/evil-1.0.0.tgz?x=1", "/npm/evil/-/evil-1.0.0.tgz?", "/npm//evil/-/evil-1.0.0.tgz", "//npm/evil/-/evil-1.0.0.tgz", "/npm/x/../evil/-/evil-1.0.0.tgz", "/npm/%252e/evil/-/evil-1.0.0.tgz",
		"/npm/evil?write=true", "/npm//evil", "/npm/evil/-/evil-1.0.0.tar", "/npm/evil/download/evil-1.0.0.tgz", "/npm/e%20vil/-/evil-1.0.0.tgz", "/npm/EVIL.TGZ/x/y.TGZ"} {
		r := httptest.NewRequest("GET", "https://r.test"+path, nil)
		if !d.Takes(r) {
			t.Errorf("%s goes past the door", path)
		}
		w := httptest.NewRecorder()
		if d.ServeHTTP(w, r); w.Code != http.StatusForbidden && w.Code != http.StatusNotFound || w.Header().Get("X-Ringfence") == "" {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/npm/evil/-/evil-1.0.0.tgz", "/npm/evil", "/npm/@corp%2fevil", "/%6epm/evil"} {
		if !d.Takes(httptest.NewRequest("HEAD", "https://r.test"+path, nil)) {
			t.Errorf("%s goes past the door", path)
		}
	}
	for _, path := range []string{"/npm/-/v1/search?text=x", "/npm/-/package/lib/dist-tags", "/other/evil/-/evil-1.0.0.tgz", "/npm"} {
		if d.Takes(httptest.NewRequest("GET", "https://r.test"+path, nil)) {
			t.Errorf("%s is none of the door's", path)
		}
	}
	if d.Takes(httptest.NewRequest("PUT", "https://r.test/npm/lib", nil)) || !d.Takes(httptest.NewRequest("POST", "https://r.test/npm/lib/-/lib-1.0.0.tgz", nil)) {
		t.Error("writes are judged elsewhere, and files are not written")
	}
}
