package registry

import (
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

// To know the digest of a package is no right to it: what one registry gave to a login, the
// store gives to nobody who has only a registry that names the same digest.
func TestDigestIsNoLogin(t *testing.T) {
	const token = "CANARYtoken1"
	s := begin(t)
	corp := s.npmRegistry("127.0.0.2")
	corp.token = token
	corp.add("lib", "1.0.0", aged)
	sum := sha512.Sum512(ball("lib", corp.have["lib"][0]))
	var evil *server
	evil = s.serve("127.0.0.3", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/lib" {
			http.Error(w, "it has no file", http.StatusNotFound)
			return
		}
		fmt.Fprintf(w, `{"name":"lib","dist-tags":{"latest":"1.0.0"},"time":{"1.0.0":%q},"versions":{"1.0.0":{"name":"lib","version":"1.0.0","dist":{"tarball":"%s/lib/-/lib-1.0.0.tgz","integrity":"sha512-%s"}}}}`,
			time.Now().Add(-aged).UTC().Format(time.RFC3339), evil.URL, base64.StdEncoding.EncodeToString(sum[:]))
	})
	rc := filepath.Join(stage.Home, ".npmrc")
	t.Cleanup(func() { os.Remove(rc) })
	const get = "curl -sS -o got -w '%{http_code}\\n' http://127.0.0.1:809/npm/lib/-/lib-1.0.0.tgz"
	s.write(rc, "registry="+corp.URL+"\n"+strings.TrimPrefix(corp.URL, "http:")+"/:_authToken="+token+"\n")
	for range 2 {
		if out := s.must(s.node(), get); !strings.Contains(out, "200\n") {
			t.Fatalf("control: %s", out)
		}
	}
	if got := corp.asked(); strings.Count(strings.Join(got, " "), ".tgz") != 1 {
		t.Errorf("control: fetched twice: %q", got)
	}
	s.write(rc, "registry="+evil.URL+"\n")
	if out := s.must(s.node(), get); strings.Contains(out, "200\n") || !has(evil.asked(), "/lib") {
		t.Errorf("by its digest: %s", out)
	}
}

// go.sum is the project's own file. What it names comes from the store and from the host's
// cache only where a proxy of this session has it, too.
func TestGoSumIsNoLogin(t *testing.T) {
	s := begin(t)
	env := s.env
	m := s.modules()
	s.env = append(env, "GOSUMDB=off")
	m.add("corp.test/lib", "v1.0.0", "", aged)
	sums, err := m.gosum("corp.test/lib", "v1.0.0")
	if err != nil {
		t.Fatal(err)
	}
	other := s.serve("127.0.0.3", http.NotFound)
	dir := s.project("go.mod", "module app\n\ngo 1.21\n", "go.sum", string(sums))
	const get = "curl -sS -o got -w '%{http_code}\\n' http://127.0.0.1:809/go/corp.test/lib/@v/v1.0.0.zip; head -c 200 got"
	play := func(env ...string) string {
		t.Helper()
		was := s.env
		defer func() { s.env = was }()
		s.env = append(was[:len(was):len(was)], env...)
		return s.must(dir, get, "--min-release-age", "0")
	}
	mine := "GOPROXY=" + strings.Replace(m.URL, "//", "//me:CANARYword1234567@", 1)
	cache := filepath.Join(t.TempDir(), "mod")
	s.write(filepath.Join(cache, "cache/download/corp.test/lib/@v/v1.0.0.zip"), string(m.zip("corp.test/lib@v1.0.0")))
	for _, more := range []string{"GOMODCACHE=/nowhere", "GOMODCACHE=" + cache} {
		if out := play("GOPROXY="+other.URL, more); !strings.Contains(out, "404\n") {
			t.Errorf("%s, not fetched before: %s", more, out)
		}
		if out := play(mine, more); !strings.Contains(out, "200\n") {
			t.Fatalf("control: %s", out)
		}
		if out := play("GOPROXY="+other.URL, more); !strings.Contains(out, "404\n") {
			t.Errorf("%s, fetched by another proxy: %s", more, out)
		}
	}
}
