package hostexec

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLink(t *testing.T) {
	for _, tt := range []struct {
		rel, target string
		want        Rank
		part        string
	}{
		{"dist", "/home/u/.ssh", Asked, "out of the tree"},
		{"l", "../x", Asked, "out of the tree"},
		{"a/b/l", "../../../x", Asked, "out of the tree"},
		{"a/l", "b/../../../x", Asked, "out of the tree"},
		{"l", "..", Asked, "out of the tree"},
		{".vscode", "other", Unasked, "tasks"},
		{".claude", "../x", Unasked, "out of the tree"},
		{".git/modules/x", "../../evil", Unasked, "git directory"},
		{".git", "elsewhere", Unasked, "git directory"},
		{"node_modules/.bin/x", "../x/cli.js", Asked, "search"},
	} {
		f := Link(tt.rel, tt.target)
		if f == nil || f.Rank != tt.want || !strings.Contains(f.Why, tt.part) {
			t.Errorf("%s -> %s: %+v", tt.rel, tt.target, f)
		}
	}
	for rel, target := range map[string]string{"l": "a", "a/l": "../b", "a/b/l": "../..", "lib/x.so": "x.so.1", "a": "..b"} {
		if f := Link(rel, target); f != nil {
			t.Errorf("%s -> %s: %+v", rel, target, f)
		}
	}
	if f := Link("x", "/a\x1b[2J"); strings.Contains(f.Why, "\x1b") {
		t.Error("an escape is shown as it is")
	}
}

func TestName(t *testing.T) {
	for rel, part := range map[string]string{
		"a\x1b]0;pwn\a\nb":               "control character",
		"a\nb":                           "control character",
		"a\x7f":                          "control character",
		"a\u009bb":                       "control character",
		"--exec=x":                       "dash",
		"src/-rf":                        "dash",
		"a\u202egnp.exe":                 "not seen",
		"a\u200bb":                       "not seen",
		"a\U000E0041":                    "not seen",
		"a\u2028b":                       "not seen",
		"a\xffb":                         "not UTF-8",
		".GIT/hooks/x":                   `".git"`,
		".Claude/settings.json":          `".claude"`,
		".vscode./tasks.json":            `".vscode"`,
		".git /config":                   `".git"`,
		"GIT~1/config":                   `".git"`,
		".git::$INDEX_ALLOCATION/config": `".git"`,
		".mcp.json.":                     `".mcp.json"`,
		"docs/head":                      `"HEAD"`,
	} {
		if f := Name(rel); f == nil || !strings.Contains(f.Why, part) {
			t.Errorf("%q: %+v, want %s", rel, f, part)
		}
	}
	for _, rel := range []string{
		"main.go", "a b.txt", "ünïcödé/日本.md", ".git/hooks/x", ".claude/settings.json", "docs/HEAD", "src/Hooks/Config.ts", "a-b", "❤\ufe0f.md",
		"v1.", "src/Config", ".idea/x", "lefthook.yml", "x:y",
	} {
		if f := Name(rel); f != nil {
			t.Errorf("%q: %+v", rel, f)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, s := range []string{"a\x1b[2J", "-x", "\xff", ".GIT/config", "a/b.c", ".v\u017fcode"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rel string) {
		found := Name(rel)
		if found == nil && (!utf8.ValidString(rel) || strings.ContainsFunc(rel, func(r rune) bool { return r < ' ' || disguise(r) })) {
			t.Fatalf("%q passes", rel)
		}
		if found != nil && strings.ContainsFunc(found.Why, func(r rune) bool { return r < ' ' || disguise(r) }) {
			t.Fatalf("%q is shown as it is", rel)
		}
	})
}

func TestMode(t *testing.T) {
	for _, tt := range []struct {
		rel      string
		old, new uint32
		want     string // rank and a part of what is said, "" for nothing
	}{
		{"a", 0o644, 0o644, ""},
		{"a", 0o644, 0o600, ""},
		{"a", 0o755, 0o711, ""},
		{"a", 0o744, 0o755, ""},
		{"a", 0o644, 0o755, "source became executable"},
		{".git/hooks/pre-commit", 0o644, 0o755, "unasked became executable"},
		{"gradlew", 0o644, 0o755, "asked became executable"},
		{"a", 0o755, 0o4755, "unasked rights of its owner"},
		{"a", 0o755, 0o2755, "unasked rights of its owner"},
		{"a", 0o4755, 0o4755, ""},
		{"a", 0o755, 0o1755, "source sticky"},
	} {
		f := Mode(tt.rel, tt.old, tt.new)
		if tt.want == "" {
			if f != nil {
				t.Errorf("%s %o %o: %+v", tt.rel, tt.old, tt.new, f)
			}
			continue
		}
		rank, part, _ := strings.Cut(tt.want, " ")
		if f == nil || f.Rank.String() != rank || !strings.Contains(f.Why, part) {
			t.Errorf("%s %o %o: %+v, want %s", tt.rel, tt.old, tt.new, f, tt.want)
		}
	}
}
