package broker

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
)

// What a host with paths refuses by itself is in the journal: beside the paths, and below
// one whose secret is switched off.
func TestPathsRecordWhatTheyRefuse(t *testing.T) {
	var got []journal.Record
	p := &Paths{Host: "registry.test", Record: func(r journal.Record) error {
		got = append(got, r)
		return nil
	}}
	p.Add("/a", http.NotFoundHandler())
	p.Closed("/b", "it is switched off")
	for path, want := range map[string]string{"/a/x": "", "/b": "it is switched off", "/b/x": "it is switched off", "/x": "the credentials of this host are for what lies below /a/ and /b/ alone"} {
		got = nil
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest("PUT", path, nil))
		if want == "" {
			if len(got) > 0 || w.Code != http.StatusNotFound {
				t.Errorf("%s: %d %+v", path, w.Code, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Verdict != journal.Deny || got[0].Reason != want || got[0].Name != "registry.test" || got[0].Method != "PUT" || w.Code != http.StatusForbidden {
			t.Errorf("%s: %d %+v", path, w.Code, got)
		}
	}
}
