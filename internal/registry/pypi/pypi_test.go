package pypi

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/registry/brake"
	"ringfence.dev/ringfence/internal/registry/store"
	"ringfence.dev/ringfence/internal/registry/upstream"
)

var at = &url.URL{Scheme: "https", Host: "index.test", Path: "/simple/lib/"}

const digest = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

const doc = `{"meta":{"api-version":"1.1"},"name":"Lib","versions":["1.0","1.1"],"files":[
{"filename":"lib-1.0.tar.gz","url":"https://files.test/a/lib-1.0.tar.gz","hashes":{"md5":"x","sha256":"` + digest + `"},"size":3,"upload-time":"2020-01-01T00:00:00.123456Z","requires-python":">=3.8","yanked":false},
{"filename":"lib-1.1-py3-none-any.whl","url":"../../packages/lib-1.1-py3-none-any.whl","hashes":{"sha256":"` + digest + `"},"size":4,"upload-time":"2026-01-09T00:00:00Z","yanked":"broken","core-metadata":{"sha256":"` + digest + `"}},
{"filename":"../evil.whl","url":"https://files.test/evil.whl","hashes":{}},
{"filename":"lib-1.2.zip","url":"ftp://files.test/lib-1.2.zip","hashes":{}},
{"filename":"lib-1.3.zip","url":"https://me:pw@files.test/lib-1.3.zip","hashes":{}}]}`

const page503 = `<!DOCTYPE html><html><head><base href="https://files.test/x/"></head><body><h1>Links</h1>
<a href="lib-1.0.tar.gz#sha256=` + digest + `" data-requires-python="&gt;=3.8">lib-1.0.tar.gz</a><br/>
<a href="lib-1.1-py3-none-any.whl#md5=00" data-yanked data-core-metadata="sha256=` + digest + `">lib-1.1-py3-none-any.whl</a>
<a href="https://index.test/about">about</a></body></html>`

func TestPages(t *testing.T) {
	p, err := readPage("lib", at, kindJSON, []byte(doc))
	if err != nil || len(p.files) != 2 {
		t.Fatalf("%+v, %v", p, err)
	}
	if a, b := p.files[0], p.files[1]; a.out.Year() != 2020 || a.python != ">=3.8" || a.want.Sum != digest || a.yanked || !b.yanked || b.why != "broken" || b.meta.Sum != digest || b.at.String() != "https://index.test/packages/lib-1.1-py3-none-any.whl" {
		t.Errorf("%+v", p.files)
	}
	h, err := readPage("lib", at, "text/html; charset=utf-8", []byte(page503))
	if err != nil || len(h.files) != 2 {
		t.Fatalf("%+v, %v", h, err)
	}
	if a, b := h.files[0], h.files[1]; !a.out.IsZero() || a.python != ">=3.8" || a.want.Sum != digest || a.at.String() != "https://files.test/x/lib-1.0.tar.gz" || !b.yanked || b.want.Sum != "" || b.meta.Sum != digest {
		t.Errorf("%+v", h.files)
	}
	for _, bad := range []string{"", "{}", "[]", `{"name":"other","files":[]}`, `{"name":"lib"}`, `{"name":"lib","files":[],"files":[]}`, `{"name":"lib","files":[{"yanked":3}]}`, doc + "x"} {
		if _, err := readPage("lib", at, kindJSON, []byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// What is written in one form is read as the same, in both.
func TestRender(t *testing.T) {
	p, err := readJSON("lib", at, []byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	p.files[0].yanked, p.files[0].why = true, `why "so" <b>`
	text, err := p.asJSON("lib")
	if err != nil {
		t.Fatal(err)
	}
	again, err := readJSON("lib", at, text)
	if err != nil {
		t.Fatal(err)
	}
	html, err := readHTML(at, p.asHTML("lib"))
	if err != nil || len(again.files) != len(p.files) || len(html.files) != len(p.files) {
		t.Fatalf("%+v, %+v, %v", again, html, err)
	}
	for i, e := range p.files {
		for _, o := range []entry{again.files[i], html.files[i]} {
			if o.name != e.name || o.at.String() != e.at.String() || o.why != e.why || o.yanked != e.yanked || o.want != e.want || o.meta != e.meta || o.python != e.python {
				t.Errorf("%+v became %+v", e, o)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for path, want := range map[string]string{"/lib/": "lib", "/lib": "lib", "/My.Lib_x/": "my-lib-x", "/": "", "": "", "//": "", "/../": "", "/a/b/": "", "/.a/": "", "/a./": "", "/a%2fb/": "", "/a%00/": "", "/" + strings.Repeat("a", 129) + "/": ""} {
		if got, ok := project(path); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", path, got, ok)
		}
	}
	for file, want := range map[string]string{
		"my_lib-1.0-py3-none-any.whl": "my-lib", "my_lib-1.0-py3-none-any.whl.metadata": "my-lib", "lib-1.0.tar.gz": "lib", "python-dateutil-2.8.2.tar.gz": "python-dateutil python", "x.whl": "", "-1.tar.gz": "",
	} {
		if got := strings.Join(guess(file), " "); got != want && !(want == "" && file == "x.whl") {
			t.Errorf("%q: %q", file, got)
		}
	}
	for file, want := range map[string]string{"my_lib-1.0-py3-none-any.whl": "1.0", "my-lib-1.0.tar.gz": "1.0", "other-1.zip": "other-1.zip"} {
		if got := version("my-lib", file); got != want {
			t.Errorf("%q: %q", file, got)
		}
	}
}

func TestSettings(t *testing.T) {
	c := Conf{}
	c.Read([]byte("# x\n[global]\nindex_url = https://a.test/simple\ntimeout: 60\nextra-index-url =\n    https://b.test/simple\n    https://c.test/simple\n\n[install]\nIndex-Url = https://d.test/simple\n[list]\nindex-url=https://e.test\n"))
	want := []Index{{URL: "https://d.test/simple", Default: true}, {URL: "https://b.test/simple"}, {URL: "https://c.test/simple"}}
	if got := c.Indexes(); !slices.Equal(got, want) {
		t.Errorf("pip: %+v", got)
	}
	got, err := ParseUV([]byte("[tool.uv]\nindex-url = 'https://a.test'\nextra-index-url = ['https://b.test']\n[[tool.uv.index]]\nname = 'corp'\nurl = 'https://c.test'\nexplicit = true\n"), "tool", "uv")
	want = []Index{{Name: "corp", URL: "https://c.test", Explicit: true}, {URL: "https://b.test"}, {URL: "https://a.test", Default: true}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("uv: %+v, %v", got, err)
	}
	if got := ParseNamed("corp=https://a.test/x=y"); got.Name != "corp" || got.URL != "https://a.test/x=y" {
		t.Errorf("%+v", got)
	}
	if _, err := ParseURL("https://me:CANARY@host?x"); err == nil || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("%v", err)
	}
}

// answers is an index that says one thing to everybody.
type answers func(*http.Request) (status int, kind, body string)

func (a answers) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	status, kind, body := a(r)
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	w.WriteString(body)
	return w.Result(), nil
}

// At a host of files the index decides what a file is of, by a lock file's address alone.
func TestFilesByAddress(t *testing.T) {
	var asked []string
	trip := answers(func(r *http.Request) (int, string, string) {
		asked = append(asked, r.URL.String())
		switch r.URL.Path {
		case "/simple/lib/":
			return 200, kindJSON, doc
		case "/a/lib-1.0.tar.gz":
			return 200, "", ""
		}
		return 404, "", ""
	})
	now := func() time.Time { return time.Date(2026, 1, 10, 0, 0, 0, 0, time.UTC) }
	d := &Door{Site: &upstream.Site{Base: &url.URL{Scheme: "https", Host: "index.test", Path: "/simple"}, Trip: trip, Other: trip}, Store: store.At(t.TempDir()),
		Brake: brake.Rules{Age: 72 * time.Hour, Exempt: func(string, string) bool { return false }, Now: now}}
	for at, want := range map[string]int{
		"https://files.test/a/lib-1.0.tar.gz": 200, "https://files.test/b/lib-1.0.tar.gz": 404, "https://evil.test/a/lib-1.0.tar.gz": 404,
		"https://index.test/packages/lib-1.1-py3-none-any.whl": 403, "https://index.test/packages/lib-1.1-py3-none-any.whl.metadata": 403, "https://files.test/a/none-1.0.tar.gz": 404,
	} {
		w := httptest.NewRecorder()
		d.Files().ServeHTTP(w, httptest.NewRequest("GET", at, nil))
		if w.Code != want {
			t.Errorf("%s: %d %s", at, w.Code, w.Body)
		}
	}
	if slices.ContainsFunc(asked, func(s string) bool { return strings.Contains(s, "evil") || strings.Contains(s, "whl") }) {
		t.Errorf("asked %q", asked)
	}
}

// However a project or a file is spelled, the question is the door's, and what is not its
// plain address is refused without asking anybody.
func TestTakesEverySpelling(t *testing.T) {
	trip := answers(func(r *http.Request) (int, string, string) {
		t.Errorf("%s was asked", r.URL)
		return 404, "", ""
	})
	d := &Door{Site: &upstream.Site{Base: &url.URL{Scheme: "https", Host: "index.test", Path: "/pypi/simple"}, Trip: trip, Other: trip}, Store: store.At(t.TempDir())}
	for _, path := range []string{"/pypi/simple/evil/?x=1", "/pypi/simple//evil/", "/pypi/simple/x/../evil/", "/pypi/simple/%2565vil/", "/pypi/packages/evil-1.0.tar.gz?x=1", "/pypi//packages/evil-1.0.tgz", "/pypi/a/../evil-1.0.tar.xz", "/pypi/./evil-1.0.TAR.GZ", "/pypi/e%20vil-1.0.whl"} {
		r := httptest.NewRequest("GET", "https://index.test"+path, nil)
		if !d.Takes(r) {
			t.Errorf("%s goes past the door", path)
		}
		for _, h := range []http.Handler{d, d.Files()} {
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusForbidden && w.Code != http.StatusNotFound {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	for path, want := range map[string]bool{"/pypi/simple/evil/": true, "/pypi/simple/%65vil": true, "/pypi/x/evil-1.0.tar.xz": true, "/pypi/x/evil-1.0.tgz": true, "/pypi/evil/json": false, "/other/evil-1.0.whl": false, "/pypi/simple/": false} {
		if got := d.Takes(httptest.NewRequest("GET", "https://index.test"+path, nil)); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	for path, want := range map[string]bool{"/packages/ab/evil": true, "//packages/ab/evil": true, "/ab/evil-1.0.tbz?x": true, "/": false, "/robots.txt": false} {
		if got := IsFile(httptest.NewRequest("GET", "https://files.test"+path, nil)); got != want {
			t.Errorf("a file %s: %v", path, got)
		}
	}
}

// What is held back and lies where no door is, is not in the index: to mark it would
// stop nobody. Where nothing is left, the index is refused with the reason.
func TestHeldWithoutDoor(t *testing.T) {
	trip := answers(func(r *http.Request) (int, string, string) { return 200, kindJSON, doc })
	ask := func(deny bool, base, files, self string) (int, string) {
		d := &Door{Site: &upstream.Site{Base: &url.URL{Scheme: "https", Host: base, Path: "/simple"}, Trip: trip, Other: trip}, FilesAt: files, Self: self, Store: store.At(t.TempDir()),
			Brake: brake.Rules{Age: 72 * time.Hour, Exempt: func(string, string) bool { return false }, Denied: func(string, string) bool { return deny },
				Now: func() time.Time { return time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC) }}}
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "https://"+base+"/simple/lib/", nil)
		r.Header.Set("Accept", kindJSON)
		d.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	for _, deny := range []bool{true, false} {
		if code, body := ask(deny, "index.test", "", ""); code != 200 || strings.Contains(body, "files.test") || !strings.Contains(body, "lib-1.1-py3-none-any.whl") {
			t.Errorf("deny %v, another host: %d %s", deny, code, body)
		}
		if code, body := ask(deny, "index.test", "files.test", ""); code != 200 || !strings.Contains(body, "https://files.test/a/lib-1.0.tar.gz") || strings.Count(body, "ringfence: ") != 2 {
			t.Errorf("deny %v, the files' host: %d %s", deny, code, body)
		}
		if code, body := ask(deny, "index.test", "", "http://door"); code == 200 && (strings.Contains(body, "files.test") || strings.Count(body, "ringfence: ") != 2) {
			t.Errorf("deny %v, the door's own: %d %s", deny, code, body)
		}
	}
	only := strings.ReplaceAll(doc, "../../packages/", "https://cdn.test/")
	trip = func(r *http.Request) (int, string, string) { return 200, kindJSON, only }
	if code, body := ask(true, "index.test", "", ""); code != 403 || !strings.Contains(body, "is refused, in every version") {
		t.Errorf("nothing left: %d %s", code, body)
	}
	if code, body := ask(false, "index.test", "", ""); code != 403 || !strings.Contains(body, "held back") {
		t.Errorf("nothing left: %d %s", code, body)
	}
}

// FuzzPage: whatever an index says, no file has a path for a name, a login or a digest
// that is none, and what is written is read as the same.
func FuzzPage(f *testing.F) {
	f.Add(doc, true)
	f.Add(page503, false)
	f.Add(`<a href=x.whl><a href="//h/y.zip#sha512=`+strings.Repeat("a", 128)+`" data-yanked='&quot;'>`, false)
	f.Add(`{"name":"lib","files":[{"filename":"a.whl","url":"http://[::1]:0/%2f","hashes":{"sha256":""},"size":-1}]}`, true)
	f.Fuzz(func(t *testing.T, text string, asJSON bool) {
		kind := "text/html"
		if asJSON {
			kind = kindJSON
		}
		p, err := readPage("lib", at, kind, []byte(text))
		if err != nil {
			return
		}
		for _, e := range p.files {
			if strings.ContainsAny(e.name, "/\\\x00\n ") || e.at.User != nil || e.at.Host == "" || e.want.Sum != "" && !e.want.Proves() {
				t.Errorf("%+v", e)
			}
		}
		out, err := p.asJSON("lib")
		if err != nil {
			t.Fatal(err)
		}
		again, err := readJSON("lib", at, out)
		if err != nil || len(again.files) != len(p.files) {
			t.Errorf("%s: %v", out, err)
		}
		if h, err := readHTML(at, p.asHTML("lib")); err != nil || len(h.files) > len(p.files) {
			t.Errorf("%s: %v", p.asHTML("lib"), err)
		}
	})
}

// FuzzSettings: whatever files of the host say, an index is a URL of a kind that is asked.
func FuzzSettings(f *testing.F) {
	f.Add("[global]\nindex-url = https://a.test\n")
	f.Add("[[index]]\nurl = 'https://a.test'\n")
	f.Fuzz(func(t *testing.T, text string) {
		c := Conf{}
		c.Read([]byte(text))
		all := c.Indexes()
		more, _ := ParseUV([]byte(text))
		for _, i := range append(all, more...) {
			if u, err := ParseURL(i.URL); err == nil && (u.Host == "" || u.RawQuery != "" || u.Scheme != "http" && u.Scheme != "https") {
				t.Errorf("%+v", i)
			}
		}
	})
}
