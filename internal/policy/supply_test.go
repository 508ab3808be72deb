package policy

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAges(t *testing.T) {
	for v, want := range map[string]time.Duration{
		"0": 0, "1h": time.Hour, "72h": 72 * time.Hour, "3d": 72 * time.Hour, "3650d": 3650 * day, "87600h": 3650 * day,
		"": -1, "0d": -1, "0h": -1, "00": -1, "03d": -1, "3": -1, "d": -1, "h": -1, "-1d": -1, "+1d": -1, "1.5d": -1, "1m": -1, "1w": -1, "1d2h": -1, "1 d": -1, "3D": -1, "3651d": -1, "99999h": -1, "99999999999999d": -1,
	} {
		got, err := ParseAge(v)
		if (err == nil) != (want >= 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v", v, got, err)
		}
		if err == nil && !regexp.MustCompile(patternAge).MatchString(v) {
			t.Errorf("the schema refuses %q", v)
		}
	}
}

func TestPackages(t *testing.T) {
	for v, want := range map[string]Package{
		"left-pad": {"", "left-pad", false}, "npm:left-pad": {"npm", "left-pad", false}, "pypi:Zope.Interface": {"pypi", "Zope.Interface", false},
		"npm:@acme/tool": {"npm", "@acme/tool", false}, "@acme/*": {"", "@acme/", true}, "npm:@acme/t*": {"npm", "@acme/t", true}, "acme_*": {"", "acme_", true},
		"go:example.org/lib": {"go", "example.org/lib", false}, "go:example.org/*": {"go", "example.org/", true}, "go:gopkg.in/yaml.v3": {"go", "gopkg.in/yaml.v3", false}, "crates:serde": {"crates", "serde", false},
	} {
		got, err := ParsePackage(v)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", v, got, err)
		}
		if !regexp.MustCompile(patternPackage).MatchString(v) {
			t.Errorf("the schema refuses %q", v)
		}
	}
	for _, v := range []string{"", "*", "npm:", "npm:*", "cargo:x", "NPM:x", "npm:npm:x", ":x", "pypi:@a/b", "a/b", "/b", "@/b", "@a/", "@a", "@a*", "@*/b", "npm:@a/b/c", "a*b", "a**", "-g", ".x", "_x", "npm:-g",
		"@-a/b", "@a/.b", "go:", "go:*", "go:/x", "go:x//y", "go:../x", "go:x/..", "go:x/*y", "go:-x", "crates:a/b", "crates:@a/b", "a b", "a\n", "a@1.0.0", "ä", "a==1", "http://x.test/y.tgz", "npm:" + strings.Repeat("a", maxPackage+2)} {
		if p, err := ParsePackage(v); err == nil {
			t.Errorf("%q is %+v", v, p)
		}
		if regexp.MustCompile(patternPackage).MatchString(v) && len(v) < maxPackage && v != "pypi:@a/b" && v != "crates:@a/b" && v != "go:x/.." {
			t.Errorf("the schema admits %q", v)
		}
	}
}

func TestTightenSupply(t *testing.T) {
	for _, c := range []struct{ name, base, over, want string }{
		{"longer", "age = '3d'", "age = '73h'", `age = "73h"`},
		{"as long", "age = '3d'", "age = '72h'", `age = "3d"`},
		{"shorter", "age = '3d'", "age = '0'", `age = "3d"`},
		{"unwritten", "", "age = '1d'", `age = "1d"`},
		{"no scripts", "scripts = true", "scripts = false", `scripts = false`},
		{"still none", "scripts = false", "scripts = true", `scripts = false`},
		{"unwritten is none", "", "scripts = true", ``},
		{"packages", "allow = ['npm:a', 'b', '@s/*']", "allow = ['a', 'npm:b', '@s/x', 'pypi:c']", `allow = [ "npm:a", "npm:b", "@s/x", ]`},
		{"no packages", "allow = ['a']", "allow = []", `allow = []`},
		{"refused", "deny = ['npm:a']", "deny = ['b', 'npm:a']", `deny = [ "npm:a", "b", ]`},
		{"refused still", "deny = ['npm:a']", "deny = []", `deny = [ "npm:a", ]`},
	} {
		got := rules(t, Tighten(mustDecode(t, "[supply]\n"+c.base), mustDecode(t, "[supply]\n"+c.over)))
		if got = strings.TrimPrefix(got, "[supply] "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestResolveSupply(t *testing.T) {
	p, _ := Resolve(Layers{})
	if p.Supply.MinAge() != 3*day || p.Supply.ScriptsOn() || p.Supply.Allow != nil {
		t.Errorf("built-in: %+v", p.Supply)
	}
	open := decodeAs(t, "x.toml", "[supply]\nage = '0'\nscripts = true\nallow = ['a']\n")
	p, ignored := Resolve(Layers{Project: open})
	if p.Supply.MinAge() != 3*day || p.Supply.ScriptsOn() || len(p.Supply.Allow) != 0 || len(ignored) != 3 {
		t.Errorf("project: %+v, %v", p.Supply, ignored)
	}
	if p, _ = Resolve(Layers{Flags: open}); p.Supply.MinAge() != 0 || !p.Supply.ScriptsOn() || !p.Supply.Allow.has("a") {
		t.Errorf("flags: %+v", p.Supply)
	}
	ceiling := decodeAs(t, "/etc/ringfence/policy.toml", "[supply]\nage = '1d'\nscripts = false\nallow = ['npm:a']\n")
	if p, _ = Resolve(Layers{Flags: open, Ceiling: ceiling}); p.Supply.MinAge() != day || p.Supply.ScriptsOn() || len(p.Supply.Allow) != 1 || p.Supply.Allow[0].Value != "npm:a" {
		t.Errorf("ceiling: %+v", p.Supply)
	}
}

// What is refused stays so, whoever says less, and however it is spelled.
func TestDenies(t *testing.T) {
	project := decodeAs(t, "x.toml", "[supply]\ndeny = ['pypi:A_b', 'pypi:foo__bar', 'pypi:corp._*', 'crates:c-d', 'go:x.test/*']\n")
	p, ignored := Resolve(Layers{Project: project, Flags: decodeAs(t, "flags", "[supply]\ndeny = []\n")})
	if len(ignored) != 0 {
		t.Errorf("to refuse is no widening: %v", ignored)
	}
	for v, want := range map[[2]string]bool{
		{"pypi", "a.b"}: true, {"pypi", "a-_.b"}: true, {"pypi", "foo-bar"}: true, {"pypi", "corp-x"}: true, {"pypi", "corpx"}: false, {"npm", "a_b"}: false, {"crates", "C_d"}: true, {"go", "x.test/y"}: true, {"go", "y.test"}: false,
	} {
		if p.Supply.Denies(v[0], v[1]) != want {
			t.Errorf("%v: %v", v, !want)
		}
	}
}

// widerSupply names the first brake that p lacks and base has, or "".
func widerSupply(base, p *Policy) string {
	if p.Supply.MinAge() < base.Supply.MinAge() {
		return "age"
	}
	if p.Supply.ScriptsOn() && !base.Supply.ScriptsOn() {
		return "scripts"
	}
	for _, tool := range packageTools {
		for _, name := range []string{"a", "ab", "b", "@s/a", "@s/b", "@t/a"} {
			if exempt(p, tool, name) && !exempt(base, tool, name) {
				return "exempts " + tool + ":" + name
			}
		}
	}
	return ""
}

// exempt is worked out without ParsePackage.
func exempt(p *Policy, tool, name string) bool {
	for _, r := range p.Supply.Allow {
		v := strings.TrimPrefix(r.Value, tool+":")
		if prefix, star := strings.CutSuffix(v, "*"); v == name || star && strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func drawSupply(t *rapid.T, label string) Supply {
	return Supply{Age: drawWord(t, label+" age", "0", "71h", "72h", "3d", "4d"), Scripts: drawFlag(t, label+" scripts"),
		Allow: drawList(t, label+" packages", rapid.StringMatching(`(npm:)?(@[st]/)?[ab]\*?|pypi:[ab]b?\*?|@s/\*`))}
}

func TestExempts(t *testing.T) {
	s := &Supply{Allow: List{{Value: "npm:left-pad"}, {Value: "@acme/*"}, {Value: "go:example.org/lib"}, {Value: "go:corp.test/*"}, {Value: "pypi:Zope_Interface"}, {Value: "both"}}}
	for _, c := range []struct {
		tool, name string
		want       bool
	}{
		{"npm", "left-pad", true}, {"pypi", "left-pad", false}, {"npm", "left-pad2", false}, {"npm", "@acme/x", true}, {"npm", "@acmex/x", false},
		{"go", "example.org/lib", true}, {"go", "example.org/lib/v2", false}, {"go", "corp.test/a/b", true}, {"go", "corp.testx/a", false},
		{"pypi", "zope.interface", true}, {"crates", "both", true}, {"go", "both", true},
	} {
		if got := s.Exempts(c.tool, c.name); got != c.want {
			t.Errorf("%s:%s: %v", c.tool, c.name, got)
		}
	}
}
