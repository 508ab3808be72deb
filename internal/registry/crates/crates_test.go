package crates

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

const doc = `{"name":"libx","vers":"1.0.0","deps":[],"cksum":"` + sum + `","features":{},"yanked":false,"pubtime":"2020-01-01T00:00:00Z"}
{"name":"libx","vers":"1.1.0-rc.1+b","deps":[],"cksum":"` + sum + `","features":{"x":["y"]},"yanked":false,"v":2}
`

func TestRequests(t *testing.T) {
	for path, want := range map[string]request{
		"/config.json": {config: true}, "/1/a": {name: "a"}, "/2/ab": {name: "ab"}, "/3/a/abc": {name: "abc"}, "/li/bx/libx": {name: "libx"}, "/de/mo/demo-x_y": {name: "demo-x_y"},
		"/dl/libx/1.0.0/download": {name: "libx", version: "1.0.0"}, "/dl/libx/1.0.0-rc.1+b/download": {name: "libx", version: "1.0.0-rc.1+b"},
		"": {}, "/": {}, "/libx": {}, "/li/by/libx": {}, "/li/bx/../x": {}, "/li/bx/%2e%2e": {}, "/dl/libx/../download": {}, "/dl/libx/1.0.0/../../x/download": {}, "/dl/../1.0.0/download": {}, "/dl/libx/1.0/download": {}, "/..//..": {}, "/3/a/abd": {name: "abd"}, "/3/b/abd": {}, "/api/v1/crates": {}, "/li/bx/libx/": {},
	} {
		if got, ok := parse(path); ok != (want != request{}) || ok && got != want {
			t.Errorf("%q: %+v, %v", path, got, ok)
		}
	}
}

func TestIndex(t *testing.T) {
	all, err := readCrate("libx", []byte(doc))
	if err != nil || len(all) != 2 || all[0].out.Year() != 2020 || !all[1].out.IsZero() || all[1].want.Sum != sum {
		t.Fatalf("%+v, %v", all, err)
	}
	if err := all[1].hold(); err != nil || !strings.Contains(string(all[1].line), `"yanked":true`) || !strings.Contains(string(all[1].line), `"features":{"x":["y"]}`) {
		t.Errorf("%s, %v", all[1].line, err)
	}
	for _, bad := range []string{"x", "[]", `{"name":"other","vers":"1.0.0","cksum":"` + sum + `"}`, `{"name":"libx","vers":"../x","cksum":"` + sum + `"}`, `{"name":"libx","vers":"1.0.0","cksum":"x"}`,
		`{"name":"libx","vers":"1.0.0","Vers":"1.0.0","cksum":"` + sum + `","cksum":"` + sum + `"}`} {
		if _, err := readCrate("libx", []byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	// Names are as they are spelled: cargo reads "pubtime" and nothing like it.
	all, err = readCrate("libx", []byte(`{"name":"libx","vers":"1.0.0","cksum":"`+sum+`","Pubtime":"2020-01-01T00:00:00Z"}`))
	if err != nil || !all[0].out.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestConfig(t *testing.T) {
	rel := release{version: "1.0.0"}
	rel.want.Sum = sum
	for text, want := range map[string]string{
		`{"dl":"https://h.test/crates","api":"https://h.test/"}`:                                   "https://h.test/crates/Libx/1.0.0/download",
		`{"dl":"https://h.test/{lowerprefix}/{prefix}/{crate}/{version}/{sha256-checksum}.crate"}`: "https://h.test/li/bx/Li/bx/Libx/1.0.0/" + sum + ".crate",
	} {
		c, err := readConfig([]byte(text))
		if got := c.file("Libx", rel); err != nil || got != want {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "{}", `{"dl":3}`, `{"dl":"a","dl":"b"}`} {
		if _, err := readConfig([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if c, err := readConfig([]byte(`{"dl":"https://h.test","api":"file:///etc"}`)); err != nil || c.api != "" {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestSettings(t *testing.T) {
	s, err := Read([]byte("[source.crates-io]\nreplace-with = 'a'\n[source.a]\nreplace-with = 'corp'\n[registries.corp]\nindex = 'sparse+https://h.test/'\ntoken = 'x'\n[registries.\"../x\"]\nindex = 'y'\n"))
	if err != nil || s.Index != "sparse+https://h.test/" || s.Tokens["corp"] != "x" || len(s.Registries) != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := Read([]byte("[source.crates-io]\nreplace-with = 'v'\n[source.v]\ndirectory = 'vendor'\n")); err == nil || s.Registry != "v" || s.Index != "" {
		t.Errorf("%+v, %v", s, err)
	}
	for text, ok := range map[string]bool{"sparse+https://h.test/x/": true, "sparse+http://127.0.0.1:1": true, "https://h.test/index.git": false, "sparse+ssh://h": false, "sparse+https://h?x": false, "": false} {
		if u, err := ParseIndex(text); (err == nil) != ok || ok && strings.HasSuffix(u.Path, "/") {
			t.Errorf("%q: %v, %v", text, u, err)
		}
	}
}

// answers is an index that says one thing to everybody, and counts who asks for what.
type answers struct {
	pages map[string]string
	asked []string
}

func (a *answers) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked = append(a.asked, r.URL.String())
	w := httptest.NewRecorder()
	if text, ok := a.pages[r.URL.String()]; ok {
		w.WriteString(text)
	} else {
		w.WriteHeader(http.StatusNotFound)
	}
	return w.Result(), nil
}

// What the host's own cache has is taken where the checksum proves it, else it is fetched.
func TestHostCache(t *testing.T) {
	dir := t.TempDir()
	a := &answers{pages: map[string]string{
		"https://i.test/config.json": `{"dl":"https://files.test/{crate}-{version}"}`, "https://i.test/li/bx/libx": doc, "https://files.test/libx-1.0.0": "",
	}}
	d := &Door{Site: &upstream.Site{Base: &url.URL{Scheme: "https", Host: "i.test"}, Trip: a, Other: a}, Caches: []string{dir}, Brake: brake.Rules{}}
	ask := func() int {
		d.Store, a.asked = store.At(t.TempDir()), nil
		w := httptest.NewRecorder()
		d.ServeHTTP(w, httptest.NewRequest("GET", "/dl/libx/1.0.0/download", nil))
		return w.Code
	}
	fetched := func() bool { return slices.Contains(a.asked, "https://files.test/libx-1.0.0") }
	if code := ask(); code != 200 || !fetched() {
		t.Errorf("control: %d, asked %q", code, a.asked)
	}
	for text, want := range map[string]bool{"": false, "poisoned": true} {
		if err := os.WriteFile(filepath.Join(dir, "libx-1.0.0.crate"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if code := ask(); code != 200 || fetched() != want {
			t.Errorf("%q in the cache: %d, asked %q", text, code, a.asked)
		}
	}
}

// FuzzCrate: whatever an index says, a version is no path, and what is held back says so
// and is read again as the same release.
func FuzzCrate(f *testing.F) {
	f.Add(doc)
	f.Add(`{"name":"LIBX","vers":"1.0.0","cksum":"` + sum + `","yanked":3}`)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := readCrate("libx", []byte(text))
		if err != nil {
			return
		}
		for _, r := range all {
			if strings.ContainsAny(r.version, "/%\\ ") || !r.want.Proves() {
				t.Errorf("%+v", r)
			}
			if err := r.hold(); err != nil {
				t.Fatal(err)
			}
			again, err := readCrate("libx", r.line)
			if err != nil || len(again) != 1 || again[0].version != r.version || again[0].want != r.want || string(again[0].rest["yanked"]) != "true" {
				t.Errorf("%s: %+v, %v", r.line, again, err)
			}
		}
	})
}

// FuzzTexts: settings of an index, dates of the API, requests and cargo's files never lead
// outside of what they are for.
func FuzzTexts(f *testing.F) {
	f.Add(`{"dl":"https://h.test/{crate}","api":"https://h.test"}`)
	f.Add(`{"versions":[{"num":"1.0.0","created_at":"2020-01-01T00:00:00Z"}]}`)
	f.Add("/dl/libx/1.0.0/download")
	f.Add("[source.crates-io]\nreplace-with = 'a'\n[source.a]\nreplace-with = 'a'\n")
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := readConfig([]byte(text)); err == nil && c.api != "" && !strings.HasPrefix(strings.ToLower(c.api), "http") {
			t.Errorf("%+v", c)
		}
		readDates([]byte(text))
		Read([]byte(text))
		if q, ok := parse(text); ok && strings.ContainsAny(q.name+q.version, "/%\\") {
			t.Errorf("%q: %+v", text, q)
		}
	})
}
