package registry

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/mod/sumdb"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/sumdb/note"

	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/test/stage"
)

// modules is a module proxy with a sum database.
type modules struct {
	*server
	t    testing.TB
	key  string // of the database
	mu   sync.Mutex
	have map[string]*release // by module@version
	lie  bool                // sends something else than it said before
	sums http.Handler
}

type release struct {
	mod, text string
	out       time.Time
}

func (s *scene) modules() *modules {
	s.t.Helper()
	m := &modules{t: s.t, have: map[string]*release{}}
	signer, verifier, err := note.GenerateKey(nil, "sum.test")
	if err != nil {
		s.t.Fatal(err)
	}
	m.key = verifier
	m.sums = sumdb.NewServer(sumdb.NewTestServer(signer, m.gosum))
	m.server = s.serve("127.0.0.1", m.answer)
	s.env = append(s.env, "GOPROXY="+m.URL, "GOSUMDB="+m.key+" "+m.URL+"/db")
	return m
}

func (m *modules) add(module, version, requires string, age time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.have[module+"@"+version] = &release{"module " + module + "\n\ngo 1.21\n\n" + requires, "package lib\n\nconst Version = \"" + version + "\"\n", time.Now().Add(-age)}
}

func (m *modules) zip(name string) []byte {
	r := m.have[name]
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	text := r.text
	if m.lie {
		text += "// poisoned\n"
	}
	for file, text := range map[string]string{"go.mod": r.mod, "lib.go": text} {
		w, err := z.Create(name + "/" + file)
		if err != nil {
			m.t.Error(err)
			return nil
		}
		io.WriteString(w, text)
	}
	z.Close()
	return b.Bytes()
}

// gosum is what the database knows: the truth.
func (m *modules) gosum(path, version string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.have[path+"@"+version]
	if r == nil {
		return nil, os.ErrNotExist
	}
	sum := func(files map[string]string) string {
		var names []string
		for name := range files {
			names = append(names, name)
		}
		h, err := dirhash.Hash1(names, func(name string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[name])), nil })
		if err != nil {
			m.t.Error(err)
		}
		return h
	}
	at := path + "@" + version + "/"
	return fmt.Appendf(nil, "%s %s %s\n%s %s/go.mod %s\n", path, version, sum(map[string]string{at + "go.mod": r.mod, at + "lib.go": r.text}), path, version, sum(map[string]string{"go.mod": r.mod})), nil
}

func (m *modules) answer(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	if rest, ok := strings.CutPrefix(path, "db/"); ok {
		r.URL.Path = "/" + rest
		m.sums.ServeHTTP(w, r)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	module, file, _ := strings.Cut(path, "/@v/")
	if file == "list" {
		for name := range m.have {
			if v, ok := strings.CutPrefix(name, module+"@"); ok {
				fmt.Fprintln(w, v)
			}
		}
		return
	}
	ext := filepath.Ext(file)
	version := strings.TrimSuffix(file, ext)
	rel := m.have[module+"@"+version]
	if rel == nil {
		http.NotFound(w, r)
		return
	}
	switch ext {
	case ".info":
		json.NewEncoder(w).Encode(map[string]any{"Version": version, "Time": rel.out.UTC()})
	case ".mod":
		io.WriteString(w, rel.mod)
	case ".zip":
		w.Write(m.zip(module + "@" + version))
	}
}

const aged = 100 * 24 * time.Hour

// app uses what example.test/lib and what that requires.
func (s *scene) app(version string) string {
	return s.project("go.mod", "module app.test\n\ngo 1.21\n\nrequire example.test/lib "+version+"\n", "app.go", "package app\n\nimport _ \"example.test/lib\"\n")
}

const use = "go mod tidy && go list -deps -f '{{.Dir}}' ./... | grep example.test && go mod verify"

// What one project fetched, proved by the sum database, another has without a byte from
// the proxy, and a third without a network.
func TestGoIsFetchedOnce(t *testing.T) {
	s := begin(t)
	m := s.modules()
	m.add("example.test/base", "v1.0.0", "", aged)
	m.add("example.test/lib", "v1.2.0", "require example.test/base v1.0.0\n", aged)
	out := s.must(s.app("v1.2.0"), use)
	if first := m.asked(); !has(first, "lib/@v/v1.2.0.zip") || !has(first, "/db/lookup/") || !strings.Contains(out, "all modules verified") {
		t.Fatalf("control: asked %q\n%s", first, out)
	}
	out = s.must(s.app("v1.2.0"), use)
	if again := m.asked(); has(again, ".zip") || has(again, ".mod") || has(again, ".info") || has(again, "lookup") {
		t.Errorf("fetched again: %q\n%s", again, out)
	}
	dir := s.app("v1.2.0")
	sums, err := m.gosum("example.test/lib", "v1.2.0")
	if err != nil {
		t.Fatal(err)
	}
	more, _ := m.gosum("example.test/base", "v1.0.0")
	s.write(filepath.Join(dir, "go.sum"), string(sums)+string(more))
	s.write(filepath.Join(dir, "go.mod"), "module app.test\n\ngo 1.21\n\nrequire example.test/lib v1.2.0\n\nrequire example.test/base v1.0.0 // indirect\n")
	out = s.must(dir, "go list -deps ./... && go mod verify; curl -sS -m 2 "+m.URL+" && echo REACHED; true", "--net", "none")
	if again := m.asked(); len(again) > 0 || !strings.Contains(out, "example.test/lib") || strings.Contains(out, "REACHED") {
		t.Errorf("without a network: asked %q\n%s", again, out)
	}
}

// A young version is not chosen, and refused with the reason by its number.
func TestGoAge(t *testing.T) {
	s := begin(t)
	m := s.modules()
	m.add("example.test/lib", "v1.2.0", "", aged)
	m.add("example.test/lib", "v1.3.0", "", time.Hour)
	if out := s.must(s.app("v1.2.0"), "go get example.test/lib@latest && cat go.mod"); !strings.Contains(out, "lib v1.2.0") {
		t.Errorf("latest: %s", out)
	}
	out, ok := s.run(s.app("v1.2.0"), "go get example.test/lib@v1.3.0")
	if ok || !strings.Contains(out, "example.test/lib v1.3.0 is held back") || !strings.Contains(out, "--allow-package go:example.test/lib") {
		t.Errorf("by its number: %s", out)
	}
	if has(m.asked(), "v1.3.0.zip") {
		t.Error("it was fetched")
	}
	if out, ok := s.run(s.app("v1.3.0"), use); ok || !strings.Contains(out, "held back") {
		t.Errorf("locked: %s", out)
	}
	for _, flags := range [][]string{{"--allow-package", "go:example.test/lib"}, {"--min-release-age", "0"}} {
		if out := s.must(s.app("v1.2.0"), "go get example.test/lib@latest && cat go.mod", flags...); !strings.Contains(out, "lib v1.3.0") {
			t.Errorf("%q: %s", flags, out)
		}
	}
}

// A proxy that sends something else than the sum database says is found out, also where
// the go command inside is told not to look, and nothing of it is kept.
func TestGoLies(t *testing.T) {
	s := begin(t)
	m := s.modules()
	m.add("example.test/lib", "v1.2.0", "", aged)
	m.lie = true
	out, ok := s.run(s.app("v1.2.0"), "GOSUMDB=off GONOSUMDB=* GOFLAGS=-mod=mod go mod download example.test/lib")
	if ok || !strings.Contains(out, "not what the checksum says") {
		t.Errorf("poisoned: %s", out)
	}
	kept := s.blobs()
	m.lie = false
	s.must(s.app("v1.2.0"), use)
	if kept > 1 || s.blobs() != 2 { // a go.mod may have been true
		t.Errorf("%d blobs after the lie, %d after the truth", kept, s.blobs())
	}
}

// go.sum of a project that lies cannot make another project get something else.
func TestGoSumOfAnotherProject(t *testing.T) {
	s := begin(t)
	m := s.modules()
	m.add("example.test/lib", "v1.2.0", "", aged)
	evil := s.app("v1.2.0")
	s.write(filepath.Join(evil, "go.sum"), "example.test/lib v1.2.0 h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\nexample.test/lib v1.2.0/go.mod h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n")
	if out, ok := s.run(evil, "go mod download"); ok {
		t.Errorf("a checksum that is none: %s", out)
	}
	if n := s.blobs(); n != 0 {
		t.Errorf("%d blobs", n)
	}
	s.must(s.app("v1.2.0"), use)
}

// The login of the proxy's URL goes to the proxy alone: not inside, and not to where the
// proxy leads.
func TestGoLogin(t *testing.T) {
	const password = "CANARY-proxy-password-7231"
	s := begin(t)
	m := s.modules()
	m.add("example.test/lib", "v1.2.0", "", aged)
	other := s.serve("127.0.0.2", m.answer)
	front := s.serve("127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		if user, pass, _ := r.BasicAuth(); user != "me" || pass != password {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/elsewhere/@v/list") {
			http.Redirect(w, r, other.URL+r.URL.Path, http.StatusFound)
			return
		}
		m.answer(w, r)
	})
	s.env = append(s.env, "GOPROXY="+strings.Replace(front.URL, "://", "://me:"+password+"@", 1))
	dir := s.app("v1.2.0")
	out := s.must(dir, use+"; env; cat $(go env GOENV) ~/.netrc; go list -m -versions example.test/elsewhere; true")
	if strings.Contains(out, password) || strings.Contains(out, front.URL) {
		t.Errorf("the login is inside: %s", out)
	}
	if got := other.all(); len(got) > 0 { // by http, to an address that no rule names
		t.Errorf("the redirect was followed: %v", got)
	}
	if !has(front.asked(), "lib/@v/v1.2.0.zip") {
		t.Error("control: the proxy was not asked")
	}
	out = s.must(dir, "curl -sS http://127.0.0.1:809/go/example.test/lib/@v/list -H 'Authorization: Basic bWU6b3RoZXI='")
	if !strings.Contains(out, "v1.2.0") {
		t.Errorf("a login of the agent's own: %s", out)
	}
}

// netrc and what go env -w wrote count, and so do lists.
func TestGoSettings(t *testing.T) {
	if !stage.Mine(0) {
		t.Skip("the other user plays it")
	}
	const password = "CANARY-netrc-password-5522"
	s := begin(t)
	m := s.modules()
	m.add("example.test/lib", "v1.2.0", "", aged)
	m.add("corp.test/secret", "v1.0.0", "", aged)
	broken := s.serve("127.0.0.1", func(w http.ResponseWriter, r *http.Request) { http.Error(w, "down", http.StatusServiceUnavailable) })
	s.env = append(s.env, "GOPROXY=") // the file's turn
	s.write(filepath.Join(s.state, "config/go/env"), "GOPROXY="+broken.URL+"|"+m.URL+",off\nGOPRIVATE=corp.test\nGOFLAGS=-modcacherw -toolexec=/bin/false\n")
	s.write(filepath.Join(stage.Home, ".netrc"), "machine 127.0.0.1 login me password "+password+"\n")
	defer os.Remove(filepath.Join(stage.Home, ".netrc"))
	out := s.must(s.app("v1.2.0"), "env | grep ^GO; "+use)
	if !strings.Contains(out, "GOPROXY=http://127.0.0.1:809/go,off\n") || !strings.Contains(out, "GOFLAGS=-modcacherw\n") || !strings.Contains(out, "GOPRIVATE=corp.test\n") || strings.Contains(out, password) {
		t.Errorf("settings: %s", out)
	}
	if got := broken.all(); len(got) == 0 || !strings.HasPrefix(got[0].authorization, "Basic ") {
		t.Errorf("the first of the list, with the login of netrc: %v", got)
	}
	m.asked()
	if out, ok := s.run(s.app("v1.2.0"), "curl -sSf http://127.0.0.1:809/go/corp.test/secret/@v/list"); ok || len(m.asked()) > 0 {
		t.Errorf("a private module was asked for: %s", out)
	}
	s.env = append(s.env, "GOPROXY="+broken.URL+","+m.URL)
	if out, ok := s.run(s.app("v1.2.0"), "go mod download example.test/other@v1.0.0"); ok || !strings.Contains(out, "answered 503") {
		t.Errorf("a comma does not pass over a failure: %s", out)
	}
	s.env = append(s.env, "GOPROXY=direct")
	if out := s.must(s.app("v1.2.0"), "go env GOPROXY"); !strings.Contains(out, "direct\n") {
		t.Errorf("direct: %s", out)
	}
}

// Who sets GOPROXY back to the public proxy does not get past the door.
func TestGoPastTheDoor(t *testing.T) {
	if !stage.Mine(1) {
		t.Skip("the other user plays it")
	}
	s := begin(t)
	public := ""
	for _, h := range policy.GroupHosts("go") {
		if suffix, ok := strings.CutPrefix(h, "*"); ok {
			public = "https://proxy" + suffix
		}
	}
	out, ok := s.run(s.app("v1.2.0"), "curl -sSv -m 10 "+public+"/example.test/lib/@v/list; GOPROXY="+public+" go mod download")
	if ok || !strings.Contains(s.log(), "modules come by the registry door") {
		t.Errorf("%s\n%s", out, s.log())
	}
}
