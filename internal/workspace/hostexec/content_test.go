package hostexec

import (
	"fmt"
	"strings"
	"testing"
)

// told writes findings in short: rank, line and what is said.
func told(fs []Finding) string {
	var b strings.Builder
	for _, f := range fs {
		fmt.Fprintf(&b, "%v %d %s\n", f.Rank, f.Line, f.Why)
	}
	return b.String()
}

// Inspect asks the built-in rules.
func Inspect(rel string, old, new []byte) []Finding {
	r, err := Builtin()
	if err != nil {
		panic(err)
	}
	return r.Inspect(rel, old, new)
}

func TestInspect(t *testing.T) {
	const base = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://forge.test/a\n"
	for _, tt := range []struct {
		rel, old, new string
		want          []string // each: rank, line and a part of what is said
	}{
		{".git/config", base, base + "[core]\n\tfsmonitor = touch /tmp/x;false\n", []string{`unasked 6 |"core.fsmonitor" is "touch /tmp/x"`}},
		{".git/config", base, base + "[core]\nhooksPath = .githooks\nsshCommand=x\npager=x\neditor=x\naskPass=x\ngitProxy=x\n",
			[]string{"unasked 6 |hookspath", "unasked 7 |sshcommand", "unasked 8 |pager", "unasked 9 |editor", "unasked 10 |askpass", "unasked 11 |gitproxy"}},
		{".git/config", base, base + "[alias]\nst = !id\nci = commit\n[credential]\nhelper = !echo\n", []string{"unasked 6 |alias.st", "unasked 9 |credential.helper", "asked 7 |alias.ci"}},
		{".git/config", base, base + "[filter \"x\"]\nsmudge = id\n[diff \"a.b\"]\ntextconv=id\n[merge \"m\"]\ndriver = x\n", []string{"unasked 6 |smudge", "unasked 8 |diff.a.b.textconv", "unasked 10 |driver"}},
		{".git/config", base, base + "[include]\npath = ../evil.cfg\n[includeIf \"gitdir:x\"]\npath=y\n", []string{"unasked 6 |include.path", "unasked 8 |includeif"}},
		{".git/config", base, base + "[url \"https://evil.test/\"]\ninsteadOf = https://forge.test/\n[remote \"origin\"]\nuploadpack = id;\n", []string{"unasked 8 |uploadpack", "asked 6 |insteadof"}},
		{".git/config", base, strings.Replace(base, "https://forge.test/a", "ext::sh -c id", 1), []string{"unasked 4 |ext::sh"}},
		{".git/config", base, strings.Replace(base, "false", "true", 1), nil},
		{".git/config", base, "[core\n", []string{"unasked 0 |not understood"}},
		{".git/modules/a/config", "", "[core]\nworktree = /\n", []string{"unasked 2 |core.worktree"}},
		{".git/config.worktree", "", "[core]\n\tfsmonitor=id\n", []string{"unasked 2 |fsmonitor"}},
		{"src/config", "", "[core]\n\tfsmonitor=id\n", nil},
		{".gitmodules", "", "[submodule \"a\"]\n\tpath = \"a\r\"\n\turl = ./x\n\tupdate = !id\n", []string{"unasked 2 |path", "unasked 4 |update", "asked 3 |url"}},
		{".gitmodules", "", "[submodule \"../x\"]\n\tpath = b\n\turl = -u\n", []string{"unasked 2 |a name", "unasked 3 |an address"}},
		{".gitattributes", "* text=auto\n*.a filter=lfs\n", "* text=auto\n*.a filter=lfs\n*.b\tfilter=x\n*.c -text\n*.d diff=x\n", []string{`asked 3 |"*.b filter=x"`, "asked 5 |diff=x"}},
		{".git/info/attributes", "", "* filter=x\n", []string{"unasked 1 |filter=x"}},
		{".git/rebase-merge/git-rebase-todo", "", "pick 1234 x\nexec make evil\n", []string{"asked 2 |exec make evil"}},
		{".vscode/tasks.json", "", "{ // a comment\n\"tasks\": [{\"command\": \"id\",\n\"runOptions\": {\"runOn\": \"folderOpen\"},},]}", []string{"unasked 3 |runOn", "asked 2 |command"}},
		{".vscode/tasks.json", "", `{"tasks": [`, []string{"unasked 0 |not understood"}},
		{".vscode/settings.json", `{"editor.tabSize": 2}`, "{\"editor.tabSize\": 4,\n\"python.defaultInterpreterPath\": \"./x\"}", []string{"unasked 2 |defaultInterpreterPath"}},
		{".vscode/settings.json", "", `{"task.allowAutomaticTasks": "on"}`, []string{"unasked 1 |allowAutomaticTasks"}},
		{".devcontainer/devcontainer.json", "", `{"initializeCommand": "id"}`, []string{"unasked 1 |runs on the host"}},
		{"package.json", `{"scripts":{"test":"a","build":"b"}}`, "{\"scripts\":{\"test\":\"a\",\n\"build\":\"c\",\n\"postinstall\":\"id\"}}",
			[]string{`asked 2 |"scripts.build" is "c"`, "asked 3 |an install runs by itself"}},
		{"package.json", "", `{"name":"a","version":"1.0.0","dependencies":{"x":"^1","y":"git+https://evil.test/y"}}`, []string{"asked 1 |dependencies.y"}},
		{".mcp.json", "", `{"mcpServers":{"x":{"command":"id"}}}`, []string{"unasked 1 |mcpServers.x.command"}},
		{".claude/settings.json", "{}", `{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"id"}]}]}}`, []string{"unasked 1 |type", "unasked 1 |command"}},
		{".claude/settings.json", "", `{"apiKeyHelper":"x","permissions":{"allow":["Bash(*)"]},"env":{"A":"b"},"theme":"dark"}`,
			[]string{"unasked 1 |apiKeyHelper", "unasked 1 |permissions.allow", "unasked 1 |env.A"}},
		{".claude/settings.json", "", "# CANARY", []string{"unasked 0 |not understood"}},
		{".codex/config.toml", "", "a = 1\n[mcp_servers.x]\ncommand = \"id\"\n", []string{"unasked 1 |", "unasked 3 |mcp_servers.x.command"}},
		{".cargo/config.toml", "", "build = {\"rustc\\u002dwrapper\" = \"id\"}\n", []string{"asked 1 |rustc-wrapper"}},
		{".npmrc", "", "//r.test/:_authToken=hunter2\nscript-shell=/x\n", []string{"asked 1 |_authToken", "asked 2 |script-shell"}},
		{".env", "A=1\n", "A=2\nNODE_OPTIONS=--require ./x\n", []string{`asked 2 |"NODE_OPTIONS"`}},
		{".github/workflows/x.yml", "a\nb\n", "a\nc\n", []string{"asked 2 |secrets after a push"}},
		{"CLAUDE.md", "hello\n", "hello\nbe \u200bgood\U000E0041\n", []string{"asked 2 |hidden characters"}},
		{"CLAUDE.md", "be \u200bgood\n", "more\nbe \u200bgood\n", nil},
		{"README.md", "", "a family: 👨\u200d👩\u200d👧 ❤\ufe0f\n", nil},
		{"main.c", "", "x\nif (a \u202e) {\n", []string{"source 2 |U+202E"}},
		{"go.mod", "module a\n", "module a\ntoolchain evil\n", []string{"asked 2 |toolchain evil"}},
		{"main.go", "", "package main\n", nil},
	} {
		var old []byte
		if tt.old != "" {
			old = []byte(tt.old)
		}
		got := Inspect(tt.rel, old, []byte(tt.new))
		ok := len(got) == len(tt.want)
		for i := 0; ok && i < len(got); i++ {
			head, part, _ := strings.Cut(tt.want[i], "|")
			ok = strings.HasPrefix(told(got[i:i+1]), head) && strings.Contains(got[i].Why, part) && got[i].Who != "" && got[i].When != ""
		}
		if !ok {
			t.Errorf("%s:\n%s\nwant %q", tt.rel, told(got), tt.want)
		}
	}
}

func TestInspectSaysNothingOf(t *testing.T) {
	if got := Inspect(".git/config", []byte("[core]\nfsmonitor=x\n"), nil); got != nil {
		t.Errorf("a deletion: %v", got)
	}
	same := []byte("[core\n")
	if got := Inspect(".git/config", same, same); got != nil {
		t.Errorf("no change: %v", got)
	}
}

func TestInspectShowsNoSecrets(t *testing.T) {
	for rel, text := range map[string]string{
		".npmrc": "//r.test/:_authToken=hunter2\n", ".env": "HTTPS_PROXY=http://a:hunter2@p.test\n", ".yarnrc.yml": "npmAuthToken: hunter2\n",
	} {
		got := Inspect(rel, nil, []byte(text))
		if len(got) != 1 || strings.Contains(got[0].Why, "hunter2") {
			t.Errorf("%s: %+v", rel, got)
		}
	}
}

func TestInspectIsBounded(t *testing.T) {
	for rel, text := range map[string]string{
		"package.json": strings.Repeat(" ", maxLook) + "{}",
		"main.go":      strings.Repeat("// x\n", maxLook/4),
	} {
		if got := Inspect(rel, nil, []byte(text)); len(got) != 1 || !strings.Contains(got[0].Why, "larger than 1 MiB") {
			t.Errorf("%s: %v", rel, got)
		}
	}
	if got := Inspect("a.bin", nil, make([]byte, 2*maxLook)); got != nil {
		t.Errorf("a large binary: %v", got)
	}
	for name, text := range map[string]string{
		"deep":        strings.Repeat("[", maxLook/2),
		"deep object": strings.Repeat(`{"a":`, maxLook/8),
		"many":        "[" + strings.Repeat("1,", maxLook/4) + "1]",
	} {
		if got := Inspect("package.json", nil, []byte(text)); len(got) != 1 || !strings.Contains(got[0].Why, "not understood") {
			t.Errorf("%s: %s", name, told(got))
		}
	}
	var scripts strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&scripts, `"s%d":"x",`, i)
	}
	got := Inspect("package.json", nil, []byte(`{"scripts":{`+scripts.String()+`}}`))
	if len(got) != maxFindings+1 || !strings.Contains(got[maxFindings].Why, "more of the same") {
		t.Errorf("%d findings", len(got))
	}
	long := `{"scripts":{"` + strings.Repeat("a*", 10000) + `":"x"}}`
	if got := Inspect("package.json", nil, []byte(long)); len(got) != 1 || len(got[0].Why) > 1000 {
		t.Errorf("a long name: %s", told(got))
	}
}

func TestGlob(t *testing.T) {
	for _, tt := range []struct {
		pattern, key string
		want         bool
	}{
		{"a.b", "a.b", true}, {"a.*", "a.b", true}, {"a.*", "a.b.c", false}, {"a.**", "a.b.c", true}, {"a.**.c", "a.b.c", true},
		{"a.**.c", "a.c", false}, {"**.c", "c", true}, {"**.c", "a.b.c", true}, {"**.*path", "x.ypath", true}, {"**.*path", "path", true},
		{"**.*path", "x.path.y", false}, {"**.*a*.b", "q.xa.y.zaz.b", true}, {"**.*a*.b", "q.xa.y.b", false}, {"**", "", true},
		{"submodule.../**", "submodule.../x.path", true}, {"a.*b", "a.bab", true},
	} {
		if got := globKey(tt.pattern, tt.key); got != tt.want {
			t.Errorf("globKey(%q, %q) = %v", tt.pattern, tt.key, got)
		}
	}
}

// FuzzInspect: whatever the bytes, what is said is bounded, can be printed, and is
// said of what is new only.
func FuzzInspect(f *testing.F) {
	for _, seed := range []struct{ rel, old, new string }{
		{".git/config", "[core]\n", "[core]\nfsmonitor = x\n"}, {"package.json", `{"a":1}`, `{"scripts":{"a":"b"}}`},
		{".vscode/tasks.json", "", `{"a":[{"runOn":"folderOpen"},],}`}, {".codex/config.toml", "", "a.b = [{c=1}]"},
		{"CLAUDE.md", "", "a\u202eb"}, {".gitattributes", "", "* filter=x"}, {".env", "", "PATH=x"},
	} {
		f.Add(seed.rel, []byte(seed.old), []byte(seed.new))
	}
	f.Fuzz(func(t *testing.T, rel string, old, new []byte) {
		if got := Inspect(rel, new, new); got != nil {
			t.Fatalf("no change: %v", got)
		}
		got := Inspect(rel, old, new)
		lines := strings.Count(string(new), "\n") + 1
		for _, finding := range got {
			if finding.Who == "" || finding.When == "" || finding.Why == "" || finding.Line < 0 || finding.Line > lines {
				t.Fatalf("%+v", finding)
			}
			if strings.ContainsFunc(finding.Why, func(r rune) bool { return r < ' ' || disguise(r) }) {
				t.Fatalf("%q cannot be printed", finding.Why)
			}
		}
		if len(got) > 4*maxFindings {
			t.Fatalf("%d findings", len(got))
		}
	})
}
