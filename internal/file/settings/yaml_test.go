package settings

import (
	"strings"
	"testing"
)

var plainYAML = Rules{Depth: 16, Nodes: 1000}

// What package managers write is read; what is more than plain is no string.
func TestYAML(t *testing.T) {
	n, err := plainYAML.YAML([]byte(`---
# a comment
npmRegistryServer: "https://npm.corp.test/a"   # behind
npmScopes:
  corp:
    npmRegistryServer: https://npm.corp.test:8443/b#c
    npmAuthToken: '${TOKEN:-}'
"//npm.corp.test/a":
    x: y
:sources:
- https://gems.corp.test/
-   'https://u:p@gems.other.test'
BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: "https://gems.corp.test"
plugins:
  - path: a.cjs
    spec: b
  -
    path: c.cjs
empty:
flow: {a: b}
anchor: &x y
yes: true
block: |
  npmRegistryServer: https://evil.test
  more
wrapped: one
  two
escaped: "a\x41"
`))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"npmRegistryServer": "https://npm.corp.test/a", "npmScopes/corp/npmRegistryServer": "https://npm.corp.test:8443/b#c", "npmScopes/corp/npmAuthToken": "${TOKEN:-}",
		"flow": "", "anchor": "", "yes": "", "block": "", "wrapped": "", "escaped": "", "empty": "",
	} {
		if got := n.Get(strings.Split(path, "/")...).Str(); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	if got := n.Get("//npm.corp.test/a", "x").Str() + n.Get("BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/").Str(); got != "yhttps://gems.corp.test" {
		t.Error(got)
	}
	if got := n.Get(":sources").Strs(); len(got) != 2 || got[1].Text != "https://u:p@gems.other.test" || got[1].Line != 12 {
		t.Errorf("%+v", got)
	}
	if got := n.Get("plugins").Items(); len(got) != 2 || got[0].Get("spec").Str() != "b" || got[1].Get("path").Str() != "c.cjs" {
		t.Errorf("%+v", got)
	}
}

// What is no such tree is refused, within bounds, and nothing of it is quoted.
func TestNoYAML(t *testing.T) {
	for _, text := range []string{"\ta: b", "a: 1\na: 2", "a:\n    b: c\n  d: e", "secretword", "a: b\n- c", "a: b\n---\nc: d", "%YAML 1.2", "a: b\rc: d", "a: \xff", "&x a: b"} {
		if n, err := plainYAML.YAML([]byte(text)); err == nil || strings.Contains(err.Error(), "secretword") {
			t.Errorf("%q: %+v, %v", text, n, err)
		}
	}
	if _, err := plainYAML.YAML([]byte(strings.Repeat("- ", 1000) + "x")); err == nil {
		t.Error("deep")
	}
	if _, err := plainYAML.YAML([]byte(strings.Repeat("- x\n", 1001))); err == nil {
		t.Error("many")
	}
}

func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: b\n", "a:\n- b\n- c: d\n  e: 'f'\n", ":sources:\n- https://a.test\n", "- - a\n  - b\n", "\"a\": \"b\" # c", "- a:\n", "-\n", "a:\n  - \n  b", "? a\n: b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, err := plainYAML.YAML(text)
		if (n == nil) != (err != nil) {
			t.Fatalf("%v, %v", n, err)
		}
		if err == nil {
			count := 0
			n.Each(func(k *Node) error {
				if count++; count > plainYAML.Nodes+1 || k.Line > 1+strings.Count(string(text), "\n") {
					t.Fatalf("%d values, line %d", count, k.Line)
				}
				return nil
			})
		}
	})
}
