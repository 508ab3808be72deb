package policy

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A name becomes an argument of a package manager and a part of a path: none is an option, a
// path, a version, an address or a line of a shell.
func TestParseTool(t *testing.T) {
	schema := regexp.MustCompile(patternTool)
	for _, v := range []string{"debian:jq", "debian:libstdc++6", "debian:g++-12", "npm:prettier", "npm:@scope/tool", "pypi:black", "pypi:Zope.Interface", "crates:ripgrep", "go:golang.org/x/tools/gopls", "nix:ripgrep"} {
		got, err := ParseTool(v)
		if err != nil || got.String() != v || !schema.MatchString(v) {
			t.Errorf("%s: %v %v", v, got, err)
		}
	}
	for _, v := range []string{"", "jq", ":jq", "debian:", "debian:-o", "debian:--install", "debian:j", "debian:JQ", "debian:jq=1.6", "debian:jq/stable", "debian:../jq", "debian:./a.deb", "debian:jq:i386", "debian:jq jq2", "debian:jq*",
		"debian:jq\n", "debian:jq;id", "debian:$(id)", "npm:-g", "npm:a/b", "npm:@a", "npm:@a/", "npm:@/b", "npm:@a/b/c", "npm:a@latest", "npm:file:x", "npm:https://x.test/a.tgz", "npm:../a", "npm:.", "pypi:a[b]", "pypi:a==1", "pypi:-r",
		"pypi:git+https://x.test", "crates:../a", "crates:a@1", "go:a/../b", "go:/a", "go:a@v1", "go:-x", "go:a//b", "go:*", "nix:a#b", "nix:github:a/b", "nix:.", "gem:rails", "DEBIAN:jq", "debian::jq", "debian:" + strings.Repeat("a", 300)} {
		if got, err := ParseTool(v); err == nil {
			t.Errorf("%q is taken for %v", v, got)
		}
	}
}

func TestToolsDecide(t *testing.T) {
	p := mustDecode(t, "[tools]\nallow = ['debian:jq']\ndefault = 'none'\n")
	if !p.Tools.Allows(Tool{"debian", "jq"}) || p.Tools.Allows(Tool{"npm", "jq"}) || p.Tools.Asks() {
		t.Errorf("%+v", p.Tools)
	}
	if none := (&Policy{}); !none.Tools.Asks() || none.Tools.Allows(Tool{"debian", "jq"}) {
		t.Error("what is not written asks")
	}
}

// What can only take away and says "none" switches tools off, those too that others allow;
// with a list of its own, that is what is left.
func TestToolsSwitchedOff(t *testing.T) {
	user := mustDecode(t, "[tools]\nallow = ['debian:jq', 'npm:a']\n")
	for over, want := range map[string]string{"default = 'none'": "", "default = 'none'\nallow = ['npm:a']": "npm:a", "allow = ['npm:a']": "npm:a", "default = 'ask'": "debian:jq npm:a", "allow = []": ""} {
		got := Tighten(user, mustDecode(t, "[tools]\n"+over+"\n"))
		var have []string
		for _, r := range got.Tools.Allow {
			have = append(have, r.Value)
		}
		if strings.Join(have, " ") != want {
			t.Errorf("%s: %v", over, have)
		}
	}
	for _, name := range []string{"ci", "autonomous", "paranoid", "untrusted-repo", "untrusted-text"} {
		if p := (scope{}).bounded(user, PostureOf(name)); p.Tools.Asks() || len(p.Tools.Allow) > 0 {
			t.Errorf("%s: %+v", name, p.Tools)
		}
	}
}

// widerTools names the first tool that p gives and base does not, or "".
func widerTools(base, p *Policy) string {
	if p.Tools.Default.Text() != ToolsNone && base.Tools.Default.Text() == ToolsNone {
		return "asks for tools"
	}
	for _, r := range p.Tools.Allow {
		if !base.Tools.Allow.has(r.Value) {
			return "tool " + r.Value
		}
	}
	return ""
}

func drawTools(t *rapid.T, label string) Tools {
	return Tools{Default: drawWord(t, label+" tools", ToolsAsk, ToolsNone), Allow: drawList(t, label+" tools", rapid.StringMatching(`(npm|debian):[ab]b`))}
}

// An agent chooses the name. What is taken is one argument, no option, and one spelling.
func FuzzParseTool(f *testing.F) {
	for _, v := range []string{"debian:jq", "npm:@a/b", "go:a.test/b", "debian:-x", "npm:../x", "pypi:a b", "nix:a#b", "crates:\x00"} {
		f.Add(v)
	}
	schema := regexp.MustCompile(patternTool)
	f.Fuzz(func(t *testing.T, v string) {
		got, err := ParseTool(v)
		if err != nil {
			return
		}
		if got.String() != v || !schema.MatchString(v) || strings.HasPrefix(got.Name, "-") || strings.ContainsAny(got.Name, " \t\n\x00'\"$;&|<>*?#=:\\") || strings.Contains("/"+got.Name+"/", "/../") || len(v) > maxTool {
			t.Errorf("%q is taken for %v", v, got)
		}
	})
}
