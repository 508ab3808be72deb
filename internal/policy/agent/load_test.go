package agent

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
)

var update = flag.Bool("update", false, "write the golden files")

func TestBuiltinGolden(t *testing.T) {
	names, err := Names("")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"claude", "codex", "gemini", "opencode"}, names); diff != "" {
		t.Fatal(diff)
	}
	for _, name := range append(names, Command) {
		t.Run(name, func(t *testing.T) {
			p, err := Load(name, "")
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.MarshalIndent(p, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", append(got, '\n'))
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// What must never be visible is not on any list, nor inside a directory on one.
func TestNothingSecretIsShown(t *testing.T) {
	secret := []string{
		"~/.claude/.credentials.json", "~/.claude/projects/other/1.jsonl", "~/.claude/history.jsonl", "~/.claude/ide/1.lock",
		"~/.claude/shell-snapshots/s.sh", "~/.claude/plugins/data/x/key", "~/.claude.json", "~/.codex/auth.json", "~/.codex/.env",
		"~/.codex/sessions/1.jsonl", "~/.codex/history.jsonl", "~/.gemini/oauth_creds.json", "~/.gemini/.env",
		"~/.gemini/google_accounts.json", "~/.gemini/tmp/x/logs.json", "~/.local/share/opencode/auth.json", "~/.ssh/id_ed25519",
	}
	for _, name := range []string{"claude", "codex", "gemini", "opencode", Command} {
		p, err := Load(name, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Config {
			for _, shown := range c.Paths {
				for _, s := range secret {
					if file.Within(s, shown) {
						t.Errorf("%s: %s shows %s", name, shown, s)
					}
				}
			}
		}
	}
}

// An agent reaches its model, through the broker, and not who counts its users.
func TestNothingCountsUsers(t *testing.T) {
	for _, name := range []string{"claude", "codex", "gemini", "opencode", Command} {
		p := load(t, name)
		if (len(p.Models) == 0) != (name == Command) {
			t.Errorf("%s: %v", name, p.Models)
		}
		hosts := p.Network.Hosts
		for _, m := range p.Models {
			hosts = append(hosts, string(m.Host()))
		}
		for _, h := range hosts {
			r, err := address.ParseRule(h)
			if err != nil || r.Below || r.Port != 0 || r.String() != h {
				t.Errorf("%s: %s is not one plain host: %v", name, h, err)
			}
			for _, bad := range []string{"statsig", "sentry", "telemetry", "datadog", "play.google", "ab.chatgpt", "segment"} {
				if strings.Contains(h, bad) {
					t.Errorf("%s reaches %s", name, h)
				}
			}
		}
	}
}

func userProfile(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, name+".toml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestUserProfile(t *testing.T) {
	dir := userProfile(t, "aider", "name = \"aider\"\nargs = [\"--no-check-update\"]\n[binary]\nnames = [\"aider\"]\n")
	p, err := Load("aider", dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"--no-check-update"}, p.Args); diff != "" {
		t.Error(diff)
	}
	if p.Source != filepath.Join(dir, "aider.toml") {
		t.Errorf("source %q", p.Source)
	}
	names, err := Names(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"aider", "claude", "codex", "gemini", "opencode"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestUserProfileReplaces(t *testing.T) {
	dir := userProfile(t, "claude", "name = \"claude\"\n[binary]\nnames = [\"my-claude\"]\n")
	p, err := Load("claude", dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.State) != 0 || p.Search.Names[0] != "my-claude" {
		t.Errorf("the built-in profile shines through: %+v", p)
	}
}

func TestLoadRefuses(t *testing.T) {
	tests := []struct{ what, text, want string }{
		{"unknown key", "name = \"x\"\n[env]\npas = [\"A\"]\n", "x.toml:3:1: unknown key \"env.pas\"\n   3 | pas = [\"A\"]\n     | ~~~"},
		{"unknown table", "name = \"x\"\n[secrets]\n", "x.toml:2:2: unknown key \"secrets\"\n   2 | [secrets]\n     |  ~~~~~~~"},
		{"wrong type", "name = \"x\"\nargs = 3\n", "x.toml:2:"},
		{"twice", "name = \"x\"\nname = \"x\"\n", "x.toml:2:"},
		{"escape in line", "name = \"x\"\n\"a\x7fb\" = 1\n", "x.toml"},
		{"other name", "name = \"y\"\n", `name is "y"`},
		{"HOME itself", "name = \"x\"\n[[state]]\npath = \"~/\"\nkind = \"dir\"\n", "not a clean path"},
		{"dots", "name = \"x\"\n[[state]]\npath = \"~/a/../..\"\nkind = \"dir\"\n", "not a clean path"},
		{"state outside HOME", "name = \"x\"\n[[state]]\npath = \"/etc/x\"\nkind = \"dir\"\n", "under HOME"},
		{"kind", "name = \"x\"\n[[state]]\npath = \"~/x\"\nkind = \"link\"\n", "not dir or file"},
		{"seeded directory", "name = \"x\"\n[[state]]\npath = \"~/x\"\nkind = \"dir\"\nseed = \"a\"\n", "only a file"},
		{"relative config", "name = \"x\"\n[[config]]\npaths = [\"x\"]\n", "not absolute"},
		{"root", "name = \"x\"\n[[config]]\npaths = [\"/\"]\n", "not a clean path"},
		{"format", "name = \"x\"\n[[config]]\npaths = [\"~/x\"]\nscrub = \"yaml\"\n", "not json or toml"},
		{"omit", "name = \"x\"\n[[config]]\npaths = [\"~/x\"]\nomit = [\"../y\"]\n", "leads out"},
		{"managed in HOME", "name = \"x\"\n[[managed]]\npath = \"~/x\"\n", "only an absolute path"},
		{"binary", "name = \"x\"\n[binary]\nnames = [\"a/b\"]\n", "not a file name"},
		{"variable", "name = \"x\"\nbinary.names = [\"x\"]\n[env]\npass = [\"A=B\"]\n", "not a name"},
		{"note", "name = \"x\"\nbinary.names = [\"x\"]\n[note]\nbase = [\"~/x\"]\n", "note:"},
		{"host", "name = \"x\"\nbinary.names = [\"x\"]\n[network]\nhosts = [\"*.com\"]\n", "network: hosts: \"*.com\""},
		{"needless", "name = \"x\"\nbinary.names = [\"x\"]\n[network]\nneedless = [\"tcp://a.test:1\"]\n", "network: needless: \"tcp://a.test:1\""},
		{"host key", "name = \"x\"\n[network]\nhost = []\n", "unknown key \"network.host\""},
		{"no program", "name = \"x\"\n", "names is empty"},
		{"large", "name = \"x\"\n#" + strings.Repeat("x", maxProfile), "larger than"},
		{"deep", "name = \"x\"\nargs = " + strings.Repeat("[", maxBrackets+1), "brackets"},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			_, err := Load("x", userProfile(t, "x", tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("kind %v", fault.KindOf(err))
			}
			if strings.ContainsAny(err.Error(), "\x1b\x7f") {
				t.Errorf("control character in %q", err)
			}
		})
	}
}

func TestLoadUnreadableIsNoFallback(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "claude.toml"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Load("claude", dir); err == nil {
		t.Fatal("a user's profile that cannot be read was passed over")
	}
}

func TestLoadUnknown(t *testing.T) {
	for _, name := range []string{"", "nobody", "../claude", "Claude", "-x", strings.Repeat("a", 33)} {
		_, err := Load(name, t.TempDir())
		if fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "claude, codex") {
			t.Errorf("%q: %v, hint %q", name, err, fault.HintOf(err))
		}
	}
}

func TestSettings(t *testing.T) {
	p, err := Load("opencode", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []Setting{
		{"OPENCODE_CONFIG_CONTENT", `{"instructions": ["/n\"o"]}`},
		{"OPENCODE_DISABLE_AUTOUPDATE", "1"},
		{NoteName, `/n"o`},
	}
	if diff := cmp.Diff(want, p.Settings(`/n"o`, 1000)); diff != "" {
		t.Error(diff)
	}
	claude, err := Load("claude", "")
	if err != nil {
		t.Fatal(err)
	}
	sandbox := func(uid int) (found bool) {
		for _, s := range claude.Settings("/n", uid) {
			found = found || s == Setting{"IS_SANDBOX", "1"}
		}
		return found
	}
	if !sandbox(0) || sandbox(1000) {
		t.Error("IS_SANDBOX is for uid 0 and for nobody else")
	}
}

func FuzzDecode(f *testing.F) {
	entries, err := builtin.ReadDir("profiles")
	if err != nil {
		f.Fatal(err)
	}
	for _, e := range entries {
		data, err := builtin.ReadFile("profiles/" + e.Name())
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("name = \"x\"\n[env]\npas = 1"))
	f.Add([]byte("name = \"x\"\nbinary.names = [\"x\"]\n[network]\nhosts = [\"api.example.test:8443\"]\n"))
	f.Add([]byte("a=[[[[{b={c=1}}]]]]\r\n\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > maxProfile {
			return
		}
		p, err := decode(data, "x", "f")
		if err != nil {
			return
		}
		for _, s := range p.State {
			if !file.Within(Expand(s.Path, "/h"), "/h") || Expand(s.Path, "/h") == "/h" {
				t.Errorf("state %q leaves HOME", s.Path)
			}
		}
		for _, h := range append(p.Network.Hosts, p.Network.Needless...) {
			if _, err := address.ParseRule(h); err != nil {
				t.Error(err)
			}
		}
	})
}
