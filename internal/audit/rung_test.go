package audit

import (
	"cmp"
	"os"
	"strings"
	"testing"
)

func TestRungs(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*fixture)
		want string
	}{
		"shadow": {func(*fixture) {}, "L2"},
		"link to ringfence": {func(f *fixture) {
			path := f.World.Home + "/.local/bin/claude"
			if err := os.Remove(path); err != nil {
				f.t.Fatal(err)
			}
			link(f.t, f.World.Binary, path)
		}, "L2"},
		"bare, with a sandbox of its own": {func(f *fixture) { f.rm(".local/bin/claude") }, "L1"},
		"bare": {func(f *fixture) {
			f.rm(".local/bin/claude")
			f.claude(`"enabled": true`, `"enabled": false`)
		}, "L0"},
		"one of two is bare":  {func(f *fixture) { f.machine("/usr/bin/opencode", 0o755, "the real one") }, "L0"},
		"codex has a sandbox": {func(f *fixture) { f.machine("/usr/bin/codex", 0o755, "the real one") }, "L1"},
		"no agent":            {func(f *fixture) { f.World.Environ = []string{"PATH=/nowhere"} }, ""},
	} {
		f := newFixture(t)
		c.do(f)
		r := f.audit()
		if r.Rung.Level != c.want || r.Rung.Title != cmp.Or(BoundaryOf(c.want).Title, "no agent on PATH") || len(r.Rung.Evidence) != len(r.Rung.Agents) {
			t.Errorf("%s: %+v, want %s", name, r.Rung, c.want)
		}
		full := r.Trifecta.Private.Level == Full && r.Trifecta.WayOut.Level == Full
		if full != (c.want != "L2") {
			t.Errorf("%s: %s", name, r.Trifecta.Line(true))
		}
	}
}

func (f *fixture) rm(rel string) {
	if err := os.Remove(f.World.Home + "/" + rel); err != nil {
		f.t.Fatal(err)
	}
}

func TestHintsAreNoRung(t *testing.T) {
	f := newFixture(t)
	f.World.VM, f.World.Facts.Container = "qemu", "docker"
	f.env("SSH_CONNECTION=192.0.2.1 1 192.0.2.2 22")
	f.env("CODESPACES=true")
	r := f.audit()
	if r.Rung.Level != "L2" || len(r.Rung.Around) != 4 {
		t.Errorf("%+v", r.Rung)
	}
}

func TestTriggers(t *testing.T) {
	remote := func(url string) func(*fixture) {
		return func(f *fixture) { f.edit(f.World.Project+"/.git/config", "https://forge.test/ann/p.git", url) }
	}
	for name, c := range map[string]struct {
		do   func(*fixture)
		want string
	}{
		"own repository": {func(*fixture) {}, ""},
		"own by another name": {func(f *fixture) {
			remote("https://forge.test/ann-corp/p")(f)
			f.home(".config/gh/hosts.yml", 0o600, "forge.test:\n    user: ann-corp\n")
		}, ""},
		"a stranger's":         {remote("https://forge.test/mallory/p.git"), "foreign-repository shared-remote"},
		"a stranger's, by ssh": {remote("git@forge.test:mallory/p.git"), "foreign-repository shared-remote"},
		"a fork": {func(f *fixture) {
			f.edit(f.World.Project+"/.git/config", "[remote", "[remote \"upstream\"]\n\turl = https://forge.test/upstream/p\n[remote")
		}, "shared-remote"},
		"first commit by other": {func(f *fixture) {
			f.project(".git/logs/HEAD", 0o644, "0 1 Eve <eve@example.test> 1 +0000\tcommit (initial): x\n")
		}, "foreign-repository"},
		"first commit own": {func(f *fixture) {
			f.project(".git/logs/HEAD", 0o644, "0 1 Ann <ann@example.test> 1 +0000\tcommit (initial): x\n")
		}, ""},
		"server of the project": {func(f *fixture) { f.project(".mcp.json", 0o644, `{"mcpServers": {"x": {"command": "/opt/x"}}}`) }, "unfamiliar-server"},
		"server of any version": {addServer(`"notes": {"command": "uvx", "args": ["notes"]}`), "unfamiliar-server"},
		"mail":                  {addServer(`"post": {"command": "/opt/imap-bridge"}`), "untrusted-input"},
		"any page":              {func(f *fixture) { f.claude(`"Bash(go test:*)"`, `"WebFetch"`) }, "untrusted-input"},
	} {
		f := newFixture(t)
		c.do(f)
		var got []string
		for _, x := range f.audit().Triggers {
			got = append(got, x.ID)
			if len(x.Evidence) == 0 || x.Title == "" {
				t.Errorf("%s: %s without evidence", name, x.ID)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: triggers %q, want %q", name, s, c.want)
		}
	}
}

// TestClone: what made a repository appear here, and what was done in it since, is
// evidence beside the remote.
func TestClone(t *testing.T) {
	f := newFixture(t)
	f.edit(f.World.Project+"/.git/config", "forge.test/ann/", "forge.test/mallory/")
	clone := "0 1 Ann <ann@example.test> 1 +0000\tclone: from https://x:" + fakeToken + "@forge.test/mallory/p.git\n"
	f.project(".git/logs/HEAD", 0o644, clone)
	got := strings.Join(f.audit().Triggers[0].Evidence, "; ")
	if !strings.Contains(got, "it was cloned from forge.test/mallory/p; no commit of yours was made here") || strings.Contains(got, fakeToken) {
		t.Errorf("evidence %q", got)
	}
	f.project(".git/logs/HEAD", 0o644, clone+"1 2 Ann <ann@example.test> 2 +0000\tcommit: x\n")
	if got := strings.Join(f.audit().Triggers[0].Evidence, "; "); strings.Contains(got, "no commit of yours") {
		t.Errorf("evidence %q", got)
	}
}

func TestBroadRules(t *testing.T) {
	for rule, want := range map[string]bool{
		"Bash": true, "Bash(*)": true, "Bash(:*)": true, "Bash(curl:*)": true, "Bash(python3 *)": true, "Bash(git push:*)": true, "Bash(sudo:*)": true,
		"Read": true, "Read(//**)": true, "Read(~/**)": true, "Edit(**)": true, "WebFetch": true, "WebFetch(domain:*)": true, "*": true,
		"Bash(go test:*)": false, "Bash(curl https://example.test)": false, "Bash(git status)": false, "Read(./src/**)": false, "Read(~/notes/**)": false,
		"WebFetch(domain:docs.example.test)": false, "WebSearch": false, "mcp__docs__search": false, "": false,
	} {
		if why, _ := broad(rule); (why != "") != want {
			t.Errorf("%q: %q, want %t", rule, why, want)
		}
	}
}
