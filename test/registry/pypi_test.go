package registry

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

// pypi is an index with its files, as PEP 503, 691, 700 and 658 have it.
type pypi struct {
	*server
	mu       sync.Mutex
	have     map[string][]pyRelease
	old      bool // it speaks HTML and nothing else
	metadata bool // it has the metadata of files beside them
	lie      bool // files are not what their digest says
	auth     string
}

type pyRelease struct {
	version string
	out     time.Time
	needs   string
}

func (s *scene) pypi(addr string) *pypi {
	p := &pypi{have: map[string][]pyRelease{}, metadata: true}
	p.server = s.serve(addr, p.answer)
	return p
}

func (p *pypi) add(name, version string, age time.Duration, needs ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.have[name] = append(p.have[name], pyRelease{version, time.Now().Add(-age), strings.Join(needs, "\n")})
}

func wheelName(name string, r pyRelease) string { return name + "-" + r.version + "-py3-none-any.whl" }

func pyMetadata(name string, r pyRelease) string {
	m := "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + r.version + "\n"
	if r.needs != "" {
		m += "Requires-Dist: " + r.needs + "\n"
	}
	return m
}

func wheel(name string, r pyRelease, more string) []byte {
	info := name + "-" + r.version + ".dist-info/"
	files := [][2]string{{name + ".py", "version = '" + r.version + "'\n" + more}, {info + "METADATA", pyMetadata(name, r)},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}}
	if name == tool {
		files[0][1] += "def main(): print('frob', version)\n"
		files = append(files, [2]string{info + "entry_points.txt", "[console_scripts]\n" + name + " = " + name + ":main\n"})
	}
	record := info + "RECORD,,\n"
	for _, f := range files {
		record += f[0] + ",,\n"
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range append(files, [2]string{info + "RECORD", record}) {
		w, _ := z.Create(f[0])
		w.Write([]byte(f[1]))
	}
	z.Close()
	return b.Bytes()
}

func sum256(b []byte) string { return fmt.Sprintf("%x", sha256.Sum256(b)) }

func (p *pypi) answer(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if user, pass, _ := r.BasicAuth(); p.auth != "" && user+":"+pass != p.auth {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	kind, rest, _ := strings.Cut(strings.Trim(r.URL.Path, "/"), "/")
	if kind == "packages" {
		p.file(w, r, rest)
		return
	}
	rels := p.have[rest]
	if kind != "simple" || rels == nil {
		http.NotFound(w, r)
		return
	}
	var files []map[string]any
	var versions []string
	page := "<!DOCTYPE html><html><body>\n"
	for _, rel := range rels {
		body := wheel(rest, rel, "")
		f := map[string]any{"filename": wheelName(rest, rel), "url": "../../packages/ab/" + wheelName(rest, rel), "hashes": map[string]string{"sha256": sum256(body)},
			"size": len(body), "upload-time": rel.out.UTC().Format("2006-01-02T15:04:05.000000Z"), "yanked": false, "requires-python": nil, "core-metadata": false}
		if p.metadata {
			f["core-metadata"] = map[string]string{"sha256": sum256([]byte(pyMetadata(rest, rel)))}
		}
		files, versions = append(files, f), append(versions, rel.version)
		page += "<a href=\"../../packages/ab/" + wheelName(rest, rel) + "#sha256=" + sum256(body) + "\">" + wheelName(rest, rel) + "</a>\n"
	}
	if p.old || !strings.Contains(r.Header.Get("Accept"), "simple.v1+json") {
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(page))
		return
	}
	w.Header().Set("Content-Type", "application/vnd.pypi.simple.v1+json")
	json.NewEncoder(w).Encode(map[string]any{"meta": map[string]any{"api-version": "1.1", "_last-serial": 1}, "name": rest, "versions": versions, "files": files})
}

func (p *pypi) file(w http.ResponseWriter, r *http.Request, rest string) {
	for name, rels := range p.have {
		for _, rel := range rels {
			switch strings.TrimPrefix(rest, "ab/") {
			case wheelName(name, rel):
				more := ""
				if p.lie {
					more = "poisoned = True\n"
				}
				w.Write(wheel(name, rel, more))
				return
			case wheelName(name, rel) + ".metadata":
				w.Write([]byte(pyMetadata(name, rel)))
				return
			}
		}
	}
	http.NotFound(w, r)
}

// pip installs into a directory of the project, and says what came.
const (
	pip   = "python3 -m pip --disable-pip-version-check --retries 0 install --no-cache-dir --target out "
	which = " && PYTHONPATH=out python3 -c 'import lib; print(\"HAVE\", lib.version)'"
)

func (s *scene) python(p *pypi) { s.env = append(s.env, "PIP_INDEX_URL="+p.URL+"/simple/") }

// A young version is not chosen, by its number it is refused with the reason, what is
// exempt comes, and what one project fetched another has from the store.
func TestPythonAge(t *testing.T) {
	for i, metadata := range []bool{true, false} {
		if !stage.Mine(i) {
			continue
		}
		t.Run(fmt.Sprintf("metadata-%v", metadata), func(t *testing.T) {
			s := begin(t)
			p := s.pypi("127.0.0.1")
			p.metadata = metadata
			p.add("lib", "1.0.0", aged, "base")
			p.add("lib", "1.1.0", time.Hour)
			p.add("base", "2.0", aged)
			s.python(p)
			if out := s.must(s.project("x", ""), pip+"lib"+which); !strings.Contains(out, "HAVE 1.0.0") {
				t.Fatalf("the latest: %s", out)
			}
			if got := p.asked(); !has(got, "lib-1.0.0-py3-none-any.whl") {
				t.Errorf("control: %q", got)
			}
			if out := s.must(s.project("x", ""), pip+"'lib>=1'"+which); !strings.Contains(out, "HAVE 1.0.0") {
				t.Errorf("a range: %s", out)
			}
			if got := p.asked(); has(got, "packages") {
				t.Errorf("fetched again: %q", got)
			}
			out, ok := s.run(s.project("x", ""), pip+"lib==1.1.0")
			if ok || has(p.asked(), "packages") {
				t.Errorf("by its number: %s", out)
			}
			if !strings.Contains(out, "lib 1.1.0 is held back") || !strings.Contains(out, "--allow-package pypi:lib") {
				t.Errorf("no reason: %s", out)
			}
			for _, flags := range [][]string{{"--allow-package", "pypi:lib"}, {"--min-release-age", "0"}} {
				if out := s.must(s.project("x", ""), pip+"lib"+which, flags...); !strings.Contains(out, "HAVE 1.1.0") {
					t.Errorf("%q: %s", flags, out)
				}
			}
		})
	}
}

// Requirements with digests are installed without a network from what was fetched before.
func TestPythonOffline(t *testing.T) {
	s := begin(t)
	p := s.pypi("127.0.0.1")
	p.add("lib", "1.0.0", aged)
	s.python(p)
	locked := func() string {
		return s.project("requirements.txt", "lib==1.0.0 --hash=sha256:"+sum256(wheel("lib", p.have["lib"][0], ""))+"\n")
	}
	const install = pip + "--require-hashes -r requirements.txt" + which
	if out, ok := s.run(locked(), install, "--net", "none"); ok {
		t.Fatalf("control: nothing was fetched yet: %s", out)
	}
	s.must(locked(), install)
	p.asked()
	out := s.must(locked(), install, "--net", "none")
	if got := p.asked(); len(got) > 0 || !strings.Contains(out, "HAVE 1.0.0") {
		t.Errorf("asked %q\n%s", got, out)
	}
}

// A file that is not what the index says is neither installed nor kept.
func TestPythonLies(t *testing.T) {
	s := begin(t)
	p := s.pypi("127.0.0.1")
	p.add("lib", "1.0.0", aged)
	p.metadata, p.lie = false, true
	s.python(p)
	out, ok := s.run(s.project("x", ""), pip+"lib")
	if ok || !strings.Contains(out, "not what the checksum says") || s.blobs() != 0 {
		t.Errorf("%d blobs: %s", s.blobs(), out)
	}
	p.lie = false
	s.must(s.project("x", ""), pip+"lib"+which)
	if s.blobs() != 1 {
		t.Errorf("%d blobs after the truth", s.blobs())
	}
}

// An index in HTML does not say when a file came: it is held back, and that is recorded. A
// client that knows nothing but HTML gets the reason as well.
func TestPythonHTML(t *testing.T) {
	s := begin(t)
	p := s.pypi("127.0.0.1")
	p.add("lib", "1.0.0", aged)
	p.old = true
	s.python(p)
	if out, ok := s.run(s.project("x", ""), pip+"lib"); ok {
		t.Errorf("without a date: %s", out)
	}
	if log := s.log(); !strings.Contains(log, "its date is not known") {
		t.Errorf("the record: %s", log)
	}
	if out, ok := s.run(s.project("x", ""), pip+"lib==1.0.0"); ok || !strings.Contains(out, "its date is not known") {
		t.Errorf("by its number: %s", out)
	}
	if out := s.must(s.project("x", ""), pip+"lib"+which, "--min-release-age", "0"); !strings.Contains(out, "HAVE 1.0.0") {
		t.Errorf("any age: %s", out)
	}
	out := s.must(s.project("x", ""), "curl -sSf -H 'Accept: text/html' http://127.0.0.1:809/pypi/simple/lib/")
	if !strings.Contains(out, `data-yanked="ringfence: lib 1.0.0 is held back`) || !strings.Contains(out, "#sha256=") {
		t.Errorf("in HTML: %s", out)
	}
}

// The user's pip.conf: an index and another one, each with its login. A login goes to its
// own index and never inside, and a project's file opens nothing.
func TestPythonSettings(t *testing.T) {
	const password, other = "CANARY-pypi-password-0001", "CANARY-netrc-password-0002"
	s := begin(t)
	main, extra, foreign := s.pypi("127.0.0.1"), s.pypi("127.0.0.2"), s.pypi("127.0.0.3")
	main.auth, extra.auth = "me:"+password, "me:"+other
	main.add("lib", "1.0.0", aged)
	extra.add("corp", "1.0.0", aged)
	foreign.add("else", "1.0.0", aged)
	s.write(filepath.Join(s.state, "config/pip/pip.conf"), "[global]\nindex-url = "+strings.Replace(main.URL, "://", "://me:"+password+"@", 1)+"/simple\n[install]\nextra-index-url =\n    "+extra.URL+"/simple\n")
	s.write(filepath.Join(stage.Home, ".netrc"), "machine 127.0.0.2 login me password "+other+"\n")
	defer os.Remove(filepath.Join(stage.Home, ".netrc"))
	dir := s.project("pyproject.toml", "[[tool.uv.index]]\nname = \"else\"\nurl = \""+foreign.URL+"/simple\"\n", "pip.conf", "[global]\nindex-url = "+foreign.URL+"\n")
	out := s.must(dir, pip+"lib corp"+which+"; env; cat ~/.netrc ~/.config/pip/pip.conf ~/.config/uv/uv.toml; true")
	if !strings.Contains(out, "HAVE 1.0.0") || strings.Contains(out, password) || strings.Contains(out, other) || strings.Contains(out, main.URL) {
		t.Errorf("installed: %s", out)
	}
	for v, want := range map[*pypi]string{main: main.auth, extra: extra.auth} {
		for _, a := range v.all() {
			if r := (&http.Request{Header: http.Header{"Authorization": {a.authorization}}}); !is(r, want) {
				t.Errorf("%s got %+v", v.URL, a)
			}
		}
	}
	if out, ok := s.run(dir, pip+"--index-url "+foreign.URL+"/simple else"); ok || len(foreign.all()) > 0 {
		t.Errorf("an index that only the project names: %s", out)
	}
}

func is(r *http.Request, login string) bool {
	user, pass, ok := r.BasicAuth()
	return ok && user+":"+pass == login
}

// Tricks with paths end at the door.
func TestPythonPaths(t *testing.T) {
	if !stage.Mine(1) {
		t.Skip("the other user plays it")
	}
	s := begin(t)
	p := s.pypi("127.0.0.1")
	p.add("lib", "1.0.0", aged)
	s.python(p)
	script := "for p in simple/../x simple/%2e%2e/x simple/lib/../../x simple/lib%2f..%2fx simple/ simple/lib/x simple/lib%00 simple/.hidden simple/lib?x=1 files/lib/../../x.whl files/lib/%2e%2e%2fx.whl files/../lib-1.0.0-py3-none-any.whl files/x/y/lib.whl packages/ab/lib-1.0.0-py3-none-any.whl; do " +
		"curl -sS --path-as-is -o /dev/null -w \"%{http_code} $p\\n\" \"http://127.0.0.1:809/pypi/$p\"; done; curl -sS -X POST -d {} -o /dev/null -w '%{http_code} post\\n' http://127.0.0.1:809/pypi/simple/lib/"
	out := s.must(s.project("x", ""), script)
	if got := p.asked(); len(got) > 0 || strings.Contains(out, "200 ") {
		t.Errorf("the index was asked %q\n%s", got, out)
	}
	if out := s.must(s.project("x", ""), "curl -sSf http://127.0.0.1:809/pypi/simple/Lib/ | grep -c sha256="); len(p.asked()) == 0 {
		t.Errorf("control: %s", out)
	}
}
