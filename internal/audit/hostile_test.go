package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// ids lists the rows that found something at a path of the project.
func (f *fixture) at(r *Report, rel string) (out []string) {
	for _, x := range r.Findings {
		if x.Where.Path == filepath.Join(f.World.Project, rel) {
			out = append(out, x.ID)
		}
	}
	return out
}

// TestHostileSettings: whatever a project lays down where settings are expected, the
// audit ends, says that it cannot be read, and does not go where it leads.
func TestHostileSettings(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 100_000)
	for name, lay := range map[string]func(t *testing.T, path string){
		"link to a secret": func(t *testing.T, path string) { link(t, "../../../.ssh/id_ed25519", path) },
		"link to a device": func(t *testing.T, path string) { link(t, "/dev/zero", path) },
		"link to itself":   func(t *testing.T, path string) { link(t, filepath.Base(path), path) },
		"pipe": func(t *testing.T, path string) {
			if err := unix.Mkfifo(path, 0o644); err != nil {
				t.Fatal(err)
			}
		},
		"directory": func(t *testing.T, path string) {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"socket": func(t *testing.T, path string) {
			if err := unix.Mknod(path, unix.S_IFSOCK|0o644, 0); err != nil {
				t.Fatal(err)
			}
		},
		"too large": func(t *testing.T, path string) { put(t, path, `{"a":"`+strings.Repeat("x", maxSettings)+`"}`) },
		"too deep":  func(t *testing.T, path string) { put(t, path, deep) },
		"too many":  func(t *testing.T, path string) { put(t, path, "["+strings.Repeat("0,", maxNodes)+"0]") },
		"no JSON":   func(t *testing.T, path string) { put(t, path, "{\"sandbox\": {\"enabled\": true}\n} and more") },
		"NUL bytes": func(t *testing.T, path string) { put(t, path, "\x00\x00\x00") },
		"no UTF-8":  func(t *testing.T, path string) { put(t, path, "\xff\xfe{}") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			path := filepath.Join(f.World.Project, ".claude/settings.json")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			lay(t, path)
			r := f.audit()
			if got := f.at(r, ".claude/settings.json"); len(got) != 1 || got[0] != brokenID {
				t.Errorf("found %q, want %s: %s", got, brokenID, dump(r))
			}
		})
	}
}

// TestLinkedDirectory: a link in the way is as good as one at the end.
func TestLinkedDirectory(t *testing.T) {
	f := newFixture(t)
	link(t, "../../.claude", filepath.Join(f.World.Project, ".claude"))
	f.claude(`"defaultMode": "default"`, `"defaultMode": "bypassPermissions"`)
	for _, x := range f.audit().Findings {
		if x.Where.Kind == "project" && x.ID != brokenID && x.ID != OpenedID {
			t.Errorf("a link of the project was followed: %+v", x)
		}
	}
}

// TestOwnSettingsMayBeLinks: people link their settings from elsewhere.
func TestOwnSettingsMayBeLinks(t *testing.T) {
	f := newFixture(t)
	f.home("dotfiles/settings.json", 0o600, strings.Replace(cleanClaude, `"default"`, `"bypassPermissions"`, 1))
	path := f.World.Home + "/.claude/settings.json"
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	link(t, "../dotfiles/settings.json", path)
	if got := f.weak(f.audit()); len(got) != 1 || got[0] != "AU-014 "+claudeFile {
		t.Errorf("found %q", got)
	}
}

// TestStrangersSayLittle: names that a project makes up are shown, up to a length and
// without what looks like a secret.
func TestStrangersSayLittle(t *testing.T) {
	f := newFixture(t)
	f.project(".mcp.json", 0o644, `{"mcpServers": {"`+strings.Repeat("x", 5000)+`": {"url": "http://a.test"}, "`+fakeToken+`": {"url": "http://b.test"}}}`)
	found := 0
	for _, x := range f.audit().Findings {
		if x.ID == "AU-041" {
			found++
		}
		if len(x.Detail) > 200 || strings.Contains(x.Detail, fakeToken) {
			t.Errorf("%s says %q", x.ID, x.Detail)
		}
	}
	if found != 1 { // both stand on one line of one file
		t.Errorf("found %d times", found)
	}
}

// TestManyServersAreBounded: a project can name any number.
func TestManyServersAreBounded(t *testing.T) {
	f := newFixture(t)
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "\"s%d\": {\"url\": \"http://a.test\"},\n", i)
	}
	f.project(".mcp.json", 0o644, "{\"mcpServers\": {\n"+b.String()+"}}")
	r := f.audit()
	if len(r.Findings) > 3*maxHits || !strings.Contains(strings.Join(r.Notes, "\n"), "AU-041: 5000 places") {
		t.Errorf("%d findings, notes %q", len(r.Findings), r.Notes)
	}
	for _, x := range r.Triggers {
		if len(x.Evidence) > maxReasons+1 {
			t.Errorf("%s has %d reasons", x.ID, len(x.Evidence))
		}
	}
}

// TestNothingOfHooksButTheProgram: arguments may be anything.
func TestNothingOfHooksButTheProgram(t *testing.T) {
	f := newFixture(t)
	f.claude(`"ringfence hook claude"`, `"API_TOKEN=`+fakeWord+` /opt/hook --token `+fakeToken+`"`)
	if s := dump(f.audit()); strings.Contains(s, fakeToken) || strings.Contains(s, fakeWord) || !strings.Contains(s, "/opt/hook") {
		t.Errorf("report: %s", s)
	}
}

func TestOutOfTimeIsSaid(t *testing.T) {
	f := newFixture(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := Audit(ctx, f.World)
	if r.Checks != 0 || len(r.Notes) == 0 || !strings.Contains(r.Notes[0], "out of time before AU-001") {
		t.Errorf("%d rows asked, notes %q", r.Checks, r.Notes)
	}
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// FuzzSettings: no bytes make the readers fall, what any reader of JSON takes is
// taken, and lines lie in the text.
func FuzzSettings(f *testing.F) {
	f.Add([]byte(cleanClaude))
	f.Add([]byte("// c\n{\"a\": [1, /* x\n */ \"b\",], \"a\": null}\n"))
	f.Add([]byte("[a.b]\nc = \"x\"\n[[d]]\ne = { f = [1, 2] }\n[[d]]\ne.g = true\n"))
	f.Add([]byte("projects.\"/\".trust_level = 'trusted'\n"))
	f.Add([]byte("[a]\n[a.b]\n[[a.c]]\n[a.c.d]\nx=1\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for name, parse := range map[string]func([]byte) (*node, error){"json": parseJSON, "toml": parseTOML} {
			n, err := parse(data)
			if err == nil {
				bounded(t, n, 1+strings.Count(string(data), "\n"), 0)
			} else if n != nil && name == "json" {
				t.Fatalf("%s: a value and an error", name)
			}
		}
		if _, err := parseJSON(data); err != nil && json.Valid(data) && utf8.Valid(data) && depth(data) < maxDepth && len(data) < 1<<18 {
			t.Fatalf("valid JSON is refused: %v", err)
		}
		secretLine(data)
		for line := range strings.Lines(string(data)) {
			if what := secretIn(line); len(what) > 0 && shapes().MatchString(what) {
				t.Fatalf("the name of a secret has the shape of one: %q", what)
			}
		}
		unlocked(data)
	})
}

// bounded checks the lines of all nodes.
func bounded(t *testing.T, n *node, lines, deep int) {
	if n.Line < 1 || n.Line > lines || deep > 2*maxDepth {
		t.Fatalf("line %d of %d, depth %d", n.Line, lines, deep)
	}
	for _, k := range n.Kids {
		bounded(t, k, lines, deep+1)
	}
}

// depth is at least how deep a text nests.
func depth(data []byte) (most int) {
	deep := 0
	for _, c := range data {
		switch c {
		case '{', '[':
			deep++
		case '}', ']':
			deep--
		}
		most = max(most, deep)
	}
	return most
}

// FuzzProject: whatever a project's settings hold, the audit ends, shows places that
// exist, and never the value of a secret.
func FuzzProject(f *testing.F) {
	f.Add(uint8(0), []byte(`{"mcpServers": {"x": {"command": "npx", "args": ["y"], "env": {"A_TOKEN": "`+fakeWord+`"}}}}`))
	f.Add(uint8(1), []byte(`{"permissions": {"allow": ["Bash(*)", "WebFetch"]}, "env": {"HTTPS_PROXY": "http://x.test"}}`))
	f.Add(uint8(2), []byte("sandbox_mode = \"danger-full-access\"\n[mcp_servers.x]\ncommand = \"docker\"\nargs = [\"run\", \"-v\", \"/:/x\", \"img\"]\n"))
	f.Add(uint8(3), []byte("[remote \"origin\"]\n\turl = https://x:y@forge.test/a/b\n[include]\npath=/etc/passwd\n"))
	f.Add(uint8(4), []byte(`{"permission": "allow", "mcp": {"a": {"type": "remote", "url": "http://a.test", "headers": {"Authorization": "Bearer `+fakeToken+`"}}}}`))
	files := []string{".mcp.json", ".claude/settings.json", ".codex/config.toml", ".git/config", "opencode.jsonc", ".gemini/settings.json"}
	fx := newFixture(f)
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		rel := files[int(which)%len(files)]
		path := filepath.Join(fx.World.Project, rel)
		before, err := os.ReadFile(path)
		fx.project(rel, 0o644, string(data))
		defer func() {
			if os.Remove(path); err == nil {
				fx.project(rel, 0o644, string(before))
			}
		}()
		r := fx.audit()
		lines := 1 + strings.Count(string(data), "\n")
		for _, x := range r.Findings {
			if x.Where.Path == filepath.Join(fx.World.Project, rel) && x.Where.Line > lines {
				t.Fatalf("%s: line %d of %d", x.ID, x.Where.Line, lines)
			}
		}
		if s := dump(r); strings.Contains(s, fakeToken) || strings.Contains(s, fakeWord) {
			t.Fatalf("the value of a secret: %s", s)
		}
	})
}
