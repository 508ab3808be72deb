package registry

import (
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/stage"
)

// Both managers say what they ask for. What is ready is not asked for.
const (
	npmAsks = quiet + "npm ci --loglevel http 2>&1 | tee /tmp/said; node -p 'require(\"lib/package.json\").version'; echo ASKED $(grep -c '[.]tgz' /tmp/said)"
	goAsks  = "go build -x ./... 2>/tmp/said || cat /tmp/said; go list -deps -f '{{.Dir}}' ./... | grep example.test; echo ASKED $(grep -c '^# get .*[.]\\(zip\\|mod\\)$' /tmp/said)"
)

// locked is a project whose lock file names a package of a registry by its digest.
func (s *scene) locked(n *npmRegistry, names ...string) string {
	s.t.Helper()
	deps, parts := "", ""
	for _, name := range names {
		rel := n.have[name][0]
		sum := sha512.Sum512(ball(name, rel))
		deps += fmt.Sprintf(`,"%s":"%s"`, name, rel.version)
		parts += fmt.Sprintf(`,"node_modules/%[1]s":{"version":"%[2]s","resolved":"%[3]s/%[1]s/-/%[4]s-%[2]s.tgz","integrity":"sha512-%[5]s"}`,
			name, rel.version, n.URL, filepath.Base(name), base64.StdEncoding.EncodeToString(sum[:]))
	}
	root := `"name":"app","version":"1.0.0","dependencies":{` + deps[1:] + `}`
	return s.project("package.json", "{"+root+"}", "package-lock.json", `{"name":"app","version":"1.0.0","lockfileVersion":3,"requires":true,"packages":{"":{`+root+`}`+parts+`}}`)
}

// summed is a project whose go.sum has all that it needs.
func (s *scene) summed(m *modules) string {
	s.t.Helper()
	sums, err := m.gosum("example.test/lib", "v1.2.0")
	if err != nil {
		s.t.Fatal(err)
	}
	return s.project("go.mod", "module app.test\n\ngo 1.21\n\nrequire example.test/lib v1.2.0\n", "go.sum", string(sums), "app.go", "package app\n\nimport _ \"example.test/lib\"\n")
}

func (s *scene) readyDir() string { return filepath.Join(s.state, "ringfence/registry/ready") }

// The second project asks the door for nothing of a package's contents. Without what is ready
// it does: the control.
func TestReady(t *testing.T) {
	s := begin(t)
	m, n := s.modules(), s.npmRegistry("127.0.0.1")
	m.add("example.test/lib", "v1.2.0", "", aged)
	n.add("lib", "1.0.0", aged)
	s.env = append(s.env, "npm_config_registry="+n.URL)
	for i, c := range []struct {
		name, script, found string
		project             func() string
	}{
		{"npm", npmAsks, "1.0.0\n", func() string { return s.locked(n, "lib") }},
		{"go", goAsks, "example.test/lib@v1.2.0\n", func() string { return s.summed(m) }},
	} {
		if !stage.Mine(i) {
			continue
		}
		for _, step := range []struct {
			what  string
			asked bool
		}{{"empty store", true}, {"ready", false}, {"ready again", false}, {"taken away", true}, {"ready anew", false}} {
			if step.what == "taken away" {
				if err := os.RemoveAll(s.readyDir()); err != nil {
					t.Fatal(err)
				}
			}
			out := s.must(c.project(), c.script)
			if !strings.Contains(out, c.found) || strings.Contains(out, "ASKED 0\n") == step.asked {
				t.Errorf("%s, %s: %s", c.name, step.what, out)
			}
		}
	}
}

var _ = time.Now
