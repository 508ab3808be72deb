package registry

import (
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// A package that a policy refuses is had by nobody, in no version, exempt or not, and who
// asks is told so; the one beside it comes. Nothing of it is fetched.
func TestDenied(t *testing.T) {
	s := begin(t)
	m, n, p := s.modules(), s.npmRegistry("127.0.0.1"), s.pypi("127.0.0.1")
	for _, name := range []string{"lib", "base"} {
		m.add("example.test/"+name, "v1.2.0", "", aged)
		n.add(name, "1.0.0", aged)
		p.add(name, "1.0.0", aged)
	}
	c := s.crates("127.0.0.1")
	c.add("libx", "1.0.0", aged)
	s.python(p)
	s.env = append(s.env, "npm_config_registry="+n.URL)
	s.rust(c)
	s.write(filepath.Join(s.state, "config/ringfence/policy.toml"), "[supply]\nallow = ['lib']\ndeny = ['npm:lib', 'pypi:Lib', 'go:example.test/lib', 'crates:lib*']\n")
	for i, tool := range []struct{ name, dir, script, base string }{
		{"go", s.app("v1.2.0"), "go mod download -json example.test/lib@v1.2.0", "go mod download -json example.test/base@v1.2.0"},
		{"npm", s.node(), quiet + "npm install lib", quiet + "npm install base"},
		{"pip", s.project("x", ""), pip + "lib==1.0.0", pip + "base==1.0.0"},
		{"cargo", s.cargo("1", ""), build, ""},
	} {
		if !stage.Mine(i) {
			continue
		}
		if out, ok := s.run(tool.dir, tool.script); ok || !strings.Contains(out, "is refused, in every version: deny in [supply] names it") {
			t.Errorf("%s: %s", tool.name, out)
		}
		if tool.base != "" {
			s.must(tool.dir, tool.base)
		}
	}
	for _, v := range []*server{m.server, n.server, p.server, c.server} {
		if got := v.asked(); has(got, "lib/@v/") || has(got, "/lib-1.0.0") || has(got, "libx-") {
			t.Errorf("fetched: %q", got)
		}
	}
	if log := s.log(); !strings.Contains(log, `[supply] deny`) {
		t.Errorf("the record: %s", log)
	}
}
