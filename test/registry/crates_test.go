package registry

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
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

// crates is a sparse index with its files and its web API.
type crates struct {
	*server
	mu      sync.Mutex
	have    map[string][]crate
	undated bool // the index has no dates
	api     bool // the web API has
	lie     bool // files are not what their checksum says
	token   string
}

type crate struct {
	version string
	out     time.Time
}

func (s *scene) crates(addr string) *crates {
	c := &crates{have: map[string][]crate{}}
	c.server = s.serve(addr, c.answer)
	return c
}

func (c *crates) add(name, version string, age time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.have[name] = append(c.have[name], crate{version, time.Now().Add(-age)})
}

func crateFile(name string, r crate, more string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	files := [][2]string{{"Cargo.toml", "[package]\nname = \"" + name + "\"\nversion = \"" + r.version + "\"\nedition = \"2021\"\n"}, {"src/lib.rs", "pub const VERSION: &str = \"" + r.version + "\";\n" + more}}
	if name == tool {
		files = append(files, [2]string{"src/main.rs", "fn main() { println!(\"frob {}\", frob::VERSION) }\n"})
	}
	for _, f := range files {
		w.WriteHeader(&tar.Header{Name: name + "-" + r.version + "/" + f[0], Mode: 0o644, Size: int64(len(f[1]))})
		w.Write([]byte(f[1]))
	}
	w.Close()
	z.Close()
	return b.Bytes()
}

func (c *crates) answer(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.token != "" && r.Header.Get("Authorization") != c.token {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	last := parts[len(parts)-1]
	switch {
	case r.URL.Path == "/config.json":
		json.NewEncoder(w).Encode(map[string]any{"dl": c.URL + "/files/{crate}-{version}.crate", "api": c.URL, "auth-required": c.token != ""})
	case parts[0] == "files":
		for name, rels := range c.have {
			for _, rel := range rels {
				if last == name+"-"+rel.version+".crate" {
					more := ""
					if c.lie {
						more = "// poisoned\n"
					}
					w.Write(crateFile(name, rel, more))
				}
			}
		}
	case parts[0] == "api" && c.api:
		var all []map[string]any
		for _, rel := range c.have[last] {
			all = append(all, map[string]any{"num": rel.version, "created_at": rel.out.UTC().Format(time.RFC3339Nano)})
		}
		json.NewEncoder(w).Encode(map[string]any{"crate": map[string]string{"id": last}, "versions": all})
	case c.have[last] != nil && len(parts) == 3:
		for _, rel := range c.have[last] {
			line := map[string]any{"name": last, "vers": rel.version, "deps": []any{}, "features": map[string]any{}, "yanked": false, "cksum": sum256(crateFile(last, rel, ""))}
			if !c.undated {
				line["pubtime"] = rel.out.UTC().Format(time.RFC3339)
			}
			json.NewEncoder(w).Encode(line)
		}
	default:
		http.NotFound(w, r)
	}
}

// rust has the scene's cargo take crates from an index.
func (s *scene) rust(c *crates) {
	s.t.Helper()
	path := filepath.Join(stage.Home, ".cargo/config.toml")
	s.write(path, "[source.crates-io]\nreplace-with = \"corp\"\n[source.corp]\nregistry = \"sparse+"+c.URL+"/\"\n")
	s.t.Cleanup(func() { os.Remove(path) })
}

func (s *scene) cargo(version, lock string) string {
	files := []string{"Cargo.toml", "[package]\nname = \"app\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[dependencies]\nlibx = \"" + version + "\"\n", "src/lib.rs", "pub use libx::VERSION;\n"}
	if lock != "" {
		files = append(files, "Cargo.lock", lock)
	}
	return s.project(files...)
}

func lockOf(c *crates, n int) string {
	rel := c.have["libx"][n]
	return fmt.Sprintf("version = 4\n\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\n \"libx\",\n]\n\n[[package]]\nname = \"libx\"\nversion = \"%s\"\nsource = \"registry+https://github.com/rust-lang/crates.io-index\"\nchecksum = \"%s\"\n",
		rel.version, sum256(crateFile("libx", rel, "")))
}

const build = "cargo build --quiet && grep -A1 'name = \"libx\"' Cargo.lock"

// A young release is not chosen, one in a lock file is refused with the reason, what is
// exempt comes, and what one project fetched another has from the store.
func TestCargoAge(t *testing.T) {
	for _, dated := range []string{"index", "api"} {
		t.Run(dated, func(t *testing.T) {
			s := begin(t)
			c := s.crates("127.0.0.1")
			c.undated, c.api = dated == "api", dated == "api"
			c.add("libx", "1.0.0", aged)
			c.add("libx", "1.1.0", time.Hour)
			s.rust(c)
			if out := s.must(s.cargo("1", ""), build+"; cat Cargo.lock"); !strings.Contains(out, "version = \"1.0.0\"") || strings.Contains(out, "127.0.0.1") {
				t.Fatalf("the latest: %s", out)
			}
			if got := c.asked(); !has(got, "libx-1.0.0.crate") {
				t.Errorf("control: %q", got)
			}
			s.must(s.cargo("1", ""), build)
			if got := c.asked(); has(got, ".crate") {
				t.Errorf("fetched again: %q", got)
			}
			out, ok := s.run(s.cargo("1", lockOf(c, 1)), build)
			if ok || !strings.Contains(out, "libx 1.1.0 is held back") || !strings.Contains(out, "--allow-package crates:libx") {
				t.Errorf("locked: %s", out)
			}
			if out, ok := s.run(s.cargo("=1.1.0", ""), build); ok {
				t.Errorf("by its number: %s", out)
			}
			if out := s.why(); !strings.Contains(out, "libx 1.1.0 is held back") || !strings.Contains(out, "--allow-package crates:libx") {
				t.Errorf("why: %s", out)
			}
			if has(c.asked(), ".crate") {
				t.Error("it was fetched")
			}
			for _, more := range [][]string{{"--allow-package", "crates:libx"}, {"--min-release-age", "0"}} {
				if out := s.must(s.cargo("1", ""), build, more...); !strings.Contains(out, "version = \"1.1.0\"") {
					t.Errorf("%q: %s", more, out)
				}
			}
		})
	}
}

// A locked project is built without a network from what was fetched before.
func TestCargoOffline(t *testing.T) {
	s := begin(t)
	c := s.crates("127.0.0.1")
	c.add("libx", "1.0.0", aged)
	s.rust(c)
	if out, ok := s.run(s.cargo("1", lockOf(c, 0)), build, "--net", "none"); ok {
		t.Fatalf("control: nothing was fetched yet: %s", out)
	}
	s.must(s.cargo("1", lockOf(c, 0)), build)
	c.asked()
	s.must(s.cargo("1", lockOf(c, 0)), "cargo build --quiet --locked && "+build, "--net", "none")
	if got := c.asked(); len(got) > 0 {
		t.Errorf("asked %q", got)
	}
}

// A file that is not what the index says is neither built nor kept. A release that nobody
// dates is held back.
func TestCargoLies(t *testing.T) {
	s := begin(t)
	c := s.crates("127.0.0.1")
	c.add("libx", "1.0.0", aged)
	c.lie = true
	s.rust(c)
	if out, ok := s.run(s.cargo("1", ""), build); ok || !strings.Contains(out, "not what the checksum says") || s.blobs() != 0 {
		t.Errorf("%d blobs: %s", s.blobs(), out)
	}
	c.lie = false
	s.must(s.cargo("1", ""), build)
	if s.blobs() != 1 {
		t.Errorf("%d blobs after the truth", s.blobs())
	}
	s = begin(t)
	c.undated = true
	s.rust(c)
	if out, ok := s.run(s.cargo("1", lockOf(c, 0)), build); ok || !strings.Contains(out, "its date is not known") || !strings.Contains(s.log(), "its date is not known") {
		t.Errorf("without a date: %s", out)
	}
}

// The token of cargo's registry goes to it, and never inside.
func TestCargoLogin(t *testing.T) {
	const token = "CANARY-cargo-token-0001"
	s := begin(t)
	c := s.crates("127.0.0.1")
	c.add("libx", "1.0.0", aged)
	c.token = token
	s.rust(c)
	path := filepath.Join(stage.Home, ".cargo/credentials.toml")
	s.write(path, "[registries.corp]\ntoken = \""+token+"\"\n")
	defer os.Remove(path)
	out := s.must(s.cargo("1", ""), build+"; env; cat ~/.cargo/*.toml")
	if strings.Contains(out, token) || strings.Contains(out, c.URL) || !strings.Contains(out, "replace-with") {
		t.Errorf("inside: %s", out)
	}
	script := "for p in ../x li/../x li/bx/../../x %2e%2e/x li/bx/libx?x dl/../x/download dl/libx/..%2fx/download dl/libx/1.0.0/../download li/xx/libx; do " +
		"curl -sS --path-as-is -o /dev/null -w \"%{http_code} $p\\n\" \"http://127.0.0.1:809/crates/$p\"; done"
	c.asked()
	if out := s.must(s.cargo("1", ""), script); len(c.asked()) > 0 || strings.Contains(out, "200 ") {
		t.Errorf("paths: %s", out)
	}
}
