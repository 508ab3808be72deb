package policyimport

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/policy"
)

// machine is a home directory with a project.
func machine(t testing.TB) Place {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(root, "u")
	for _, d := range []string{"project/config", "lib", "data", ".ssh"} {
		if err := os.MkdirAll(filepath.Join(home, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(home, ".ssh/id_rsa"), []byte("k"), 0o600); err != nil {
		t.Fatal(err)
	}
	return Place{File: "settings", Home: home, Dir: filepath.Join(home, "project")}
}

// written is the policy as a file says it, without its comments.
func written(t testing.TB, r Result) string {
	t.Helper()
	var b bytes.Buffer
	if err := policy.Write(&b, r.Policy); err != nil {
		t.Fatal(err)
	}
	if _, err := policy.Decode(bytes.NewReader(b.Bytes()), "import"); err != nil {
		t.Fatalf("no policy: %v\n%s", err, b.Bytes())
	}
	var out []string
	for line := range strings.Lines(b.String()) {
		line, _, _ = strings.Cut(line, "  #")
		out = append(out, strings.TrimSpace(line))
	}
	return strings.Join(out, " ")
}

const claude = `{
  // what the agent may do
  "permissions": {
    "allow": ["Bash(npm run test:*)", "Read(~/lib/**)", "Edit(~/data/**)", "WebFetch(domain:docs.example.com)", "Read(~/.ssh/**)", "mcp__x__y", "WebFetch(domain:both.example.com)"],
    "deny": ["Read(.env)", "Read(./secrets/**)", "Read(~/lib/private/**)", "Edit(/config/**)", "WebFetch(domain:bad.example.com)", "Bash(curl:*)", "WebFetch(domain:both.example.com)"],
    "ask": ["Bash(git push:*)"],
    "additionalDirectories": ["~/lib", "../nowhere"],
    "defaultMode": "acceptEdits",
  },
  "sandbox": {
    "enabled": true, "excludedCommands": ["docker"], "allowUnsandboxedCommands": false,
    "filesystem": {"allowWrite": ["~/data", "/tmp/build"], "denyRead": ["~/.aws", "~/"], "denyWrite": ["./config"]},
    "network": {"allowedDomains": ["*.example.org", "localhost"], "allowUnixSockets": ["/run/x"], "allowLocalBinding": true}
  },
  "env": {"TOOL_MODE": "fast", "ANTHROPIC_API_KEY": "sk"},
  "hooks": {}, "model": "opus" /* last */
}`

func TestClaude(t *testing.T) {
	r, err := Read("claude", []byte(claude), machine(t))
	if err != nil {
		t.Fatal(err)
	}
	got := written(t, r)
	for _, part := range []string{`paths = [ "~/lib", ]`, `mask = [ ".env", ]`, `"~/project/config",`, `write = [ "~/data", ]`, `mask = [ "secrets", "~/lib/private", ]`,
		`TOOL_MODE = "fast"`, `allow = [ "docs.example.com", "*.example.org", ]`, `deny = [ "bad.example.com", "both.example.com", ]`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in\n%s", part, got)
		}
	}
	left := map[string]string{}
	for _, l := range r.Left {
		left[l.Key] = l.Why
	}
	for key, why := range map[string]string{
		"permissions.allow[0]": "hook", "permissions.allow[4]": "credentials", "permissions.allow[5]": "walls", "permissions.allow[6]": "deny",
		"permissions.deny[5]": "hook", "permissions.ask[0]": "asked", "permissions.additionalDirectories[1]": nothing, "permissions.defaultMode": "own",
		"sandbox.enabled": already, "sandbox.excludedCommands[0]": "outside", "sandbox.allowUnsandboxedCommands": "outside",
		"sandbox.filesystem.allowWrite[1]": "private", "sandbox.filesystem.denyRead[0]": hidden, "sandbox.filesystem.denyRead[1]": "workspace", "sandbox.network.allowedDomains[1]": "loopback",
		"sandbox.network.allowUnixSockets[0]": "socket", "sandbox.network.allowLocalBinding": "listen", "env.ANTHROPIC_API_KEY": "secret", "hooks": "nothing", "model": noSuch,
	} {
		if !strings.Contains(left[key], why) {
			t.Errorf("%s: %q", key, left[key])
		}
	}
	if len(r.Left) != 20 {
		t.Errorf("%d are left: %v", len(r.Left), r.Left)
	}
	if i := slices.IndexFunc(r.Left, func(l Left) bool { return l.Key == "model" }); r.Left[i].Line != 16 {
		t.Errorf("model is on line %d", r.Left[i].Line)
	}
}

const codex = `
model = "x"
sandbox_mode = "workspace-write"
[sandbox_workspace_write]
writable_roots = ["~/data", "/etc/x"]
network_access = false
[shell_environment_policy]
inherit = "core"
include_only = ["TOOL_LEVEL", "AWS_*", "GITHUB_TOKEN"]
set = { TOOL_MODE = "fast", "A.B" = "x" }
[mcp_servers.docs]
command = "npx"
[[notify]]
a = 1
[[notify]]
a = [[1, 2], {b = true}]
[profiles.fast]
[empty]
`

func TestCodex(t *testing.T) {
	r, err := Read("codex", []byte(codex), machine(t))
	if err != nil {
		t.Fatal(err)
	}
	got := written(t, r)
	for _, part := range []string{`write = [ "~/data", ]`, `mode = "locked"`, `pass = [ "TOOL_LEVEL", ]`, `TOOL_MODE = "fast"`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in\n%s", part, got)
		}
	}
	var keys []string
	for _, l := range r.Left {
		keys = append(keys, l.Key)
	}
	want := "model sandbox_mode sandbox_workspace_write.writable_roots[1] shell_environment_policy.inherit shell_environment_policy.include_only[1] shell_environment_policy.include_only[2] shell_environment_policy.set.\"A.B\" mcp_servers.docs.command notify[0].a notify[1].a[0][0] notify[1].a[0][1] notify[1].a[1].b profiles.fast empty"
	if strings.Join(keys, " ") != want {
		t.Errorf("left: %s\nwant: %s", strings.Join(keys, " "), want)
	}
}

func TestSrt(t *testing.T) {
	r, err := Read("srt", []byte(`{"network":{"allowedDomains":["a.example.com","b.example.com:8443"],"deniedDomains":["c.example.com","*"],"allowUnixSockets":["/x"]},
		"filesystem":{"denyRead":["~/.ssh"],"allowWrite":[".","~/data"],"denyWrite":["config",".env"]},"ignoreViolations":{"*":["/x"]}}`), machine(t))
	if err != nil {
		t.Fatal(err)
	}
	got := written(t, r)
	for _, part := range []string{`allow = [ "a.example.com", "b.example.com:8443", ]`, `deny = [ "c.example.com", ]`, `write = [ "~/data", ]`, `read = [ "~/project/config", ]`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in\n%s", part, got)
		}
	}
	if len(r.Left) != 6 {
		t.Errorf("%v", r.Left)
	}
}

func TestBadSettings(t *testing.T) {
	at := machine(t)
	deep := strings.Repeat("[", 100)
	for _, c := range [][2]string{
		{"claude", ``}, {"claude", `{`}, {"claude", `{"a":1,"a":2}`}, {"claude", `{"a":1} x`}, {"claude", `{"a" 1}`}, {"claude", `{"a":tru}`},
		{"claude", `{"a":"` + "\n" + `"}`}, {"claude", deep}, {"claude", "{\"a\":\"\xff\"}"}, {"claude", `/* `}, {"claude", `{"a":01}`}, {"claude", strings.Repeat(" ", maxBytes+1)},
		{"codex", "a = "}, {"codex", "a = 1\na = 2"}, {"codex", "a = " + deep}, {"codex", "\xff"}, {"word", "{}"},
	} {
		if _, err := Read(c[0], []byte(c[1]), at); err == nil {
			t.Errorf("%s took %.30q", c[0], c[1])
		} else if strings.Contains(err.Error(), "\n") && len(c[1]) < 100 {
			t.Errorf("%q", err)
		}
	}
}

// count counts the values of a document, empty lists and tables among them.
func count(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			n += count(x)
		}
	case []any:
		for _, x := range v {
			n += count(x)
		}
	default:
		return 1
	}
	return max(n, 1)
}

// drawn draws a document of keys that tools know and of others, with values that fit
// and others.
func drawn(t *rapid.T, depth int) any {
	name := rapid.SampledFrom([]string{"permissions", "allow", "deny", "ask", "sandbox", "network", "filesystem", "allowedDomains", "deniedDomains", "denyRead", "allowWrite",
		"denyWrite", "env", "TOOL", "AWS_SECRET_ACCESS_KEY", "hooks", "additionalDirectories", "other", "a.b", "", "shell_environment_policy", "set", "sandbox_workspace_write", "writable_roots"})
	word := rapid.SampledFrom([]string{"Read(~/lib/**)", "Read(", "Edit(//etc/x)", "Bash(x)", "WebFetch(domain:a.example.com)", "a.example.com", "*.com", "*", "~", "~/", "/", ".", "",
		"../x", "config", "~/lib", "\x1b[2J", "a\nb", "\u202e", "x*y", "[::1]", "10.0.0.1", "//", "**/.env", "~root"})
	switch k := rapid.IntRange(0, 5).Draw(t, "kind"); {
	case depth < 4 && k < 2:
		out := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "size") {
			out[name.Draw(t, "name")] = drawn(t, depth+1)
		}
		return out
	case depth < 4 && k == 2:
		out := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "size") {
			out = append(out, drawn(t, depth+1))
		}
		return out
	case k == 3:
		return rapid.Bool().Draw(t, "flag")
	case k == 4:
		return rapid.IntRange(-5, 5).Draw(t, "number")
	}
	return word.Draw(t, "word")
}

// TestNothingIsDroppedInSilence: every value of the input is carried over or listed,
// once, and what is carried over is a policy.
func TestNothingIsDroppedInSilence(t *testing.T) {
	at := machine(t)
	rapid.Check(t, func(rt *rapid.T) {
		doc := drawn(rt, 0)
		data, err := json.Marshal(doc)
		if err != nil {
			rt.Fatal(err)
		}
		for _, tool := range []string{"claude", "srt"} {
			r, err := Read(tool, data, at)
			if err != nil {
				rt.Fatalf("%s: %v", data, err)
			}
			whole(rt, r, count(doc), data)
		}
	})
}

func whole(t rapid.TB, r Result, want int, data []byte) {
	t.Helper()
	if got := len(r.Carried) + len(r.Left); got != want {
		t.Fatalf("%d of %d values: %s", got, want, data)
	}
	for _, l := range r.Left {
		if l.Why == "" || l.Line == 0 {
			t.Fatalf("%+v", l)
		}
	}
	var b bytes.Buffer
	if err := policy.Write(&b, r.Policy); err != nil {
		t.Fatal(err)
	}
	again, err := policy.Decode(bytes.NewReader(b.Bytes()), "import")
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	if a, b := fmt.Sprint(values(again)), fmt.Sprint(values(r.Policy)); a != b {
		t.Fatalf("written %s, meant %s", a, b)
	}
}

func values(p *policy.Policy) (out []string) {
	for _, l := range []policy.List{p.Workspace.Paths, p.Workspace.Mask, p.Files.Read, p.Files.Write, p.Files.Mask, p.Env.Pass, p.Network.Allow, p.Network.Deny} {
		for _, r := range l {
			out = append(out, r.Value)
		}
		out = append(out, "|")
	}
	for _, s := range p.Env.Set {
		out = append(out, s.Name+"="+s.Value)
	}
	return out
}

func FuzzRead(f *testing.F) {
	f.Add("claude", []byte(claude))
	f.Add("codex", []byte(codex))
	f.Add("srt", []byte(`{"network":{"allowedDomains":["a.b"]}}`))
	f.Add("codex", []byte("a.b.c=1\n[[x]]\n[x.y]\nz={}\n"))
	at := Place{File: "settings", Home: "/nowhere/u", Dir: "/nowhere/u/project"}
	f.Fuzz(func(t *testing.T, tool string, data []byte) {
		r, err := Read(tool, data, at)
		if err != nil {
			return
		}
		if tool != "codex" {
			again, err := readJSON(data)
			if err != nil {
				t.Fatal(err)
			}
			whole(t, r, len(again), data)
			return
		}
		whole(t, r, len(r.Carried)+len(r.Left), data)
	})
}

// What a stranger's file says is told on one line, and what would run on the host is
// not carried over.
func TestHostileNames(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{"bin", ".config/autostart", "project", "data"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	data := `{"env":{"A\n[network]\nallow = [\"evil.test\"]\n#":"v","PATH":"/tmp/evil"},
		"permissions":{"allow":["Edit(~/bin/**)","Edit(~/.config/autostart/**)","Edit(~/data/**)"]}}`
	r, err := Read("claude", []byte(data), Place{File: "s.json", Home: home, Dir: home + "/project", PATH: []string{home + "/bin"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range r.Left {
		if strings.ContainsFunc(l.Key+l.Why, unicode.IsControl) {
			t.Errorf("%q: %q", l.Key, l.Why)
		}
	}
	if len(r.Left) != 4 || len(r.Policy.Env.Set) != 0 || len(r.Policy.Files.Write) != 1 {
		t.Errorf("left %+v, carried %+v %+v", r.Left, r.Policy.Env.Set, r.Policy.Files.Write)
	}
}
