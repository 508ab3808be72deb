package audit

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
)

// further are the weaknesses of the remaining rows. Some of them exclude one of the
// others, so each is tried alone.
var further = []plant{
	{"AU-002", "ROOT/usr/bin/gemini", 0, func(f *fixture) {
		f.machine("/usr/bin/gemini", 0o755, "the real one\n")
		b, err := os.ReadFile(f.World.Home + "/.local/bin/claude")
		if err != nil {
			f.t.Fatal(err)
		}
		f.machine("/opt/late/gemini", 0o755, string(b))
		f.pathEnd(f.World.Root + "/opt/late")
	}},
	{"AU-006", "P/bin", 0, func(f *fixture) { f.pathEnd(f.World.Project + "/bin") }},
	{"AU-015", state, -1, func(f *fixture) {
		f.edit(f.World.Home+"/.claude.json", "{\n", "{\n\"projects\": {\"/srv/x\": {\"allowedTools\": [\"Bash(*)\"]}},\n")
	}},
	{"AU-044", "HOME/.config/ringfence/policy.toml", 0, homeEdit(".config/ringfence/policy.toml", "[network]", "[netwrok]")},
	{"AU-007", "HOME/.zshrc", 1, homeFile(".zshrc", "alias claude=\"$HOME/.claude/local/claude\"\nalias cc=claude\n")},
	{"AU-010", claudeFile, -1, func(f *fixture) {
		f.claude(`"enabled": true`, `"enabled": false`)
		f.bare()
	}},
	{"AU-017", claudeFile, -1, func(f *fixture) {
		f.claude(`"Bash(sudo *)",`, ``)
		f.claude(`"PreToolUse": [`, `"PostToolUse": [`)
		f.bare()
	}},
	{"AU-019", claudeFile, -1, func(f *fixture) { f.claude(`"allowedDomains": ["example.test"]`, `"allowAllUnixSockets": true`) }},
	{"AU-021", state, -1, func(f *fixture) {
		f.edit(f.World.Home+"/.claude.json", "{\n", "{\n\"projects\": {\""+f.World.Home+"\": {\"hasTrustDialogAccepted\": true}},\n")
	}},
	{"AU-023", claudeFile, -1, func(f *fixture) {
		f.claude(`"hooks": {`, "\"env\": {\"ANTHROPIC_BASE_URL\": \"http://proxy.corp.test\"},\n  \"hooks\": {")
	}},
	{"AU-031", "HOME/bin/guard", 0, func(f *fixture) {
		f.home("bin/guard", 0o777, "#!/bin/sh\n")
		f.claude(`"ringfence hook claude"`, `"bash ~/bin/guard"`)
	}},
	{"AU-035", claudeFile, -1, func(f *fixture) { f.claude(`"hooks": {`, "\"enabledMcpjsonServers\": [\"memory\"],\n  \"hooks\": {") }},
	{"AU-045", claudeFile, 0, func(f *fixture) { f.chmod(f.World.Home+"/.claude/settings.json", 0o666) }},
	{"AU-052", "HOME/.codex/config.toml", 5, homeEdit(".codex/config.toml", `"workspace-write"`, "\"workspace-write\"\n\n[sandbox_workspace_write]\nnetwork_access = true")},
	{"AU-053", "HOME/.codex/config.toml", -1, func(f *fixture) {
		f.edit(f.World.Home+"/.codex/config.toml", `"workspace-write"`, "\"workspace-write\"\nsandbox_workspace_write = { writable_roots = [\""+f.World.Home+"\"] }")
	}},
	{"AU-054", "HOME/.codex/config.toml", 4, func(f *fixture) {
		f.edit(f.World.Home+"/.codex/config.toml", `"workspace-write"`, "\"workspace-write\"\n[projects.\"/\"]\ntrust_level = \"trusted\"")
	}},
	{"AU-055", "HOME/.codex/config.toml", 4, homeEdit(".codex/config.toml", `"workspace-write"`, "\"workspace-write\"\n[shell_environment_policy]\nignore_default_excludes = true")},
	{"AU-061", "HOME/.gemini/settings.json", -1, homeEdit(".gemini/settings.json", `"sandbox": true`, `"sandbox": true, "autoAccept": true`)},
	{"AU-062", "HOME/.gemini/settings.json", 2, homeEdit(".gemini/settings.json", "{\n", "{\n  \"security\": {\"folderTrust\": {\"enabled\": false}},\n")},
	{"AU-063", "HOME/.gemini/trustedFolders.json", 1, func(f *fixture) {
		f.home(".gemini/trustedFolders.json", 0o600, `{"`+f.World.Home+`/src": "TRUST_PARENT"}`)
	}},
	{"AU-071", "HOME/.config/opencode/opencode.json", -1, homeEdit(".config/opencode/opencode.json", "{\n", "{\n  \"share\": \"auto\",\n")},
	{"AU-083", "HOME/.ssh/authorized_keys", 0, func(f *fixture) { f.home(".ssh/authorized_keys", 0o622, "ssh-ed25519 AAAA x\n") }},
	{"AU-085", "HOME/.ssh/config", -1, homeEdit(".ssh/config", "ForwardAgent no", "StrictHostKeyChecking no")},
	{"AU-097", "HOME/.config/gh/hosts.yml", 2, homeFile(".config/gh/hosts.yml", "forge.test:\n    oauth_token: "+fakeToken+"\n")},
	{"AU-098", "HOME/.config/gcloud/application_default_credentials.json", 2, homeFile(".config/gcloud/application_default_credentials.json", "{\n  \"refresh_token\": \""+fakeWord+"\"\n}\n")},
	{"AU-099", "HOME/.cargo/credentials.toml", 2, homeFile(".cargo/credentials.toml", "[registry]\ntoken = \""+fakeWord+"\"\n")},
	{"AU-100", "HOME/.pgpass", 1, homeFile(".pgpass", "db.test:5432:app:ann:"+fakeWord+"\n")},
	{"AU-101", "HOME/.vault-token", 1, homeFile(".vault-token", "hvs."+strings.Repeat("a1", 14))},
	{"AU-102", "HOME/.s3cfg", 2, homeFile(".s3cfg", "[default]\nsecret_key = "+fakeWord+"\n")},
	{"AU-121", "ROOT/run/user/1000/podman/podman.sock", 0, func(f *fixture) { f.socket(f.World.Root+"/run/user/1000/podman/podman.sock", 0o666) }},
	{"AU-122", "DOCKER_HOST", 0, environ("DOCKER_HOST=tcp://build.corp.test:2375")},
	{"AU-124", "SSH_AUTH_SOCK", 0, func(f *fixture) {
		f.socket(f.World.Root+"/tmp/ssh-XXXX/agent.1", 0o666)
		f.env("SSH_AUTH_SOCK=" + f.World.Root + "/tmp/ssh-XXXX/agent.1")
		f.env("SSH_CONNECTION=192.0.2.1 1 192.0.2.2 22")
	}},
	{"AU-125", "ROOT/run/user/1000/gnupg/S.gpg-agent", 0, func(f *fixture) {
		f.home(".gnupg/private-keys-v1.d/0A.key", 0o600, "x")
		f.socket(f.World.Root+"/run/user/1000/gnupg/S.gpg-agent", 0o666)
	}},
	{"AU-126", "HOME/.local/share/keyrings", 0, func(f *fixture) {
		f.home(".local/share/keyrings/login.keyring", 0o600, "x")
		f.socket(f.World.Root+"/run/user/1000/bus", 0o666)
	}},
	{"AU-128", "TMUX", 0, environ("TMUX=/tmp/tmux-1000/default,1,0")},
	{"AU-132", "HOME/.gitconfig", -1, func(f *fixture) {
		f.dirs("root/opt/hooks")
		f.chmod(f.World.Root+"/opt/hooks", 0o777)
		f.edit(f.World.Home+"/.gitconfig", "[push]", "[core]\n\thooksPath = "+f.World.Root+"/opt/hooks\n[push]")
	}},
	{"AU-134", "HOME/.gitconfig", -1, homeEdit(".gitconfig", "[push]", "[http]\n\tsslVerify = false\n[push]")},
	{"AU-135", "HOME/.gitconfig", -1, homeEdit(".gitconfig", "default = simple", "default = matching")},
	{"AU-136", "HOME/.gitconfig", -1, homeEdit(".gitconfig", "[push]", "[protocol \"ext\"]\n\tallow = always\n[push]")},
	{"AU-142", "uid 0", 0, func(f *fixture) { f.World.UID = 0 }},
	{"AU-150", "kernel.apparmor_restrict_unprivileged_userns", 0, func(f *fixture) { f.World.Facts.Sysctl.AppArmorUserNS = 1 }},
	{"AU-152", "seccomp", 0, func(f *fixture) { f.World.Facts.Calls.Seccomp = hostfacts.Absent }},
	{"AU-155", "kernel.kptr_restrict", 0, func(f *fixture) { f.World.Kernel.KptrRestrict = 0 }},
	{"AU-156", "kernel.dmesg_restrict", 0, func(f *fixture) { f.World.Kernel.DmesgRestrict = 0 }},
	{"AU-157", "kernel.unprivileged_bpf_disabled", 0, func(f *fixture) { f.World.Kernel.BPFDisabled = 0 }},
	{"AU-158", "cgroup v2", 0, func(f *fixture) { f.World.Kernel.CgroupV2 = false }},
	{"AU-161", "HOME/.config/ringfence/policy.toml", 0, func(f *fixture) { f.chmod(f.World.Config+"/policy.toml", 0o606) }},
	{"AU-162", "HOME/.config/ringfence/policy.toml", -1, homeEdit(".config/ringfence/policy.toml", "[network]", "[require]\nwalls = [\"seccomp\"]\n[network]")},
	{"AU-164", "HOME/.config/ringfence/policy.toml", -1, homeEdit(".config/ringfence/policy.toml", "[network]", "[env]\npass = [\"GITHUB_TOKEN\"]\nforce = [\"GITHUB_TOKEN\"]\n[network]")},
	{"AU-166", "HOME/.local/state/ringfence", 0, func(f *fixture) { f.chmod(f.World.State, 0o755) }},
	{"AU-171", "P", 0, func(f *fixture) { f.chmod(f.World.Project, 0o777) }},
	{"AU-173", "HOME", 0, func(f *fixture) { f.World.Project = f.World.Home }},
}

// bare takes the shadow away, and the finding about that with it.
func (f *fixture) bare() {
	for _, bin := range []string{f.World.Home + "/.local/bin/claude", f.World.Root + "/usr/bin/claude"} {
		if err := os.Remove(bin); err != nil {
			f.t.Fatal(err)
		}
	}
}

// TestEachPlantAlone: on a clean machine each weakness is one finding, at its place.
func TestEachPlantAlone(t *testing.T) {
	for _, p := range slices.Concat(plants, further) {
		t.Run(p.id, func(t *testing.T) {
			f := newFixture(t)
			p.do(f)
			r := f.audit()
			want := p.id + " " + p.where
			if p.where == "HOME" && f.World.Project == f.World.Home {
				want = p.id + " P"
			}
			if got := f.weak(r); len(got) != 1 || got[0] != want {
				t.Fatalf("found %q, want %q", got, want)
			}
			for _, x := range r.Findings {
				if x.ID == p.id && (p.line >= 0 && x.Where.Line != p.line || p.line < 0 && x.Where.Line == 0) {
					t.Errorf("line %d, want %d", x.Where.Line, p.line)
				}
			}
			if s := dump(r); strings.Contains(s, fakeToken) || strings.Contains(s, fakeWord) {
				t.Error("the report holds the value of a secret")
			}
		})
	}
}

// TestEveryRowIsPlanted: no row without a weakness that it finds. The inventory has
// none.
func TestEveryRowIsPlanted(t *testing.T) {
	for _, c := range Checks() {
		if !slices.ContainsFunc(slices.Concat(plants, further), func(p plant) bool { return p.id == c.ID }) && c.Severity != Info {
			t.Errorf("%s (%s) is never planted", c.ID, c.Title)
		}
	}
}

func TestHooksAreTheInventory(t *testing.T) {
	f := newFixture(t)
	r := f.audit()
	if len(r.Findings) != 1 || r.Findings[0].ID != "AU-030" || r.Weak() {
		t.Errorf("inventory: %s", dump(r))
	}
	if r.DropInventory(); len(r.Findings) != 0 {
		t.Errorf("inventory is left: %s", dump(r))
	}
}

// TestBehindTheFence: what is absent inside anyway is less bad, and never more than
// inventory where nothing is wrong but that something is missing.
func TestBehindTheFence(t *testing.T) {
	f := newFixture(t)
	f.claude(`"enabled": true`, `"enabled": false`)
	f.claude(`"Bash(sudo *)",`, ``)
	f.claude(`"PreToolUse": [`, `"PostToolUse": [`)
	f.claude(`"Read(~/.ssh/**)", `, ``)
	levels := map[string]Severity{}
	for _, x := range f.audit().Findings {
		levels[x.ID] = x.Severity
	}
	if levels["AU-010"] != Info || levels["AU-017"] != Info || levels["AU-016"] != Low {
		t.Errorf("%v", levels)
	}
}

// TestGroups: a group that nobody else is in shares nothing.
func TestGroups(t *testing.T) {
	f := newFixture(t)
	f.machine("/etc/passwd", 0o644, "root:x:0:0::/:/\nann:x:1000:1000::/:/\neve:x:1002:100::/:/\nbob:x:1003:1003::/:/\n")
	f.machine("/etc/group", 0o644, "root:x:0:\nstaff:x:50:\nusers:x:100:\ndev:x:60:ann,bob\nadm:x:4:ann\nann:x:1000:\n")
	l := &look{World: f.World, docs: map[string]*document{}}
	for gid, want := range map[uint32]bool{0: false, 1000: false, 50: false, 4: false, 100: true, 60: true, 7777: true} {
		st := unix.Stat_t{Mode: 0o660, Uid: 0, Gid: gid}
		if got := l.everybody().writable(st); got != want || l.everybody().readable(st) != want {
			t.Errorf("group %d: %t, want %t", gid, got, want)
		}
	}
	if l.everybody().writable(unix.Stat_t{Mode: 0o640, Gid: 100}) || !l.everybody().writable(unix.Stat_t{Mode: 0o602}) || l.everybody().writable(unix.Stat_t{Mode: 0o660, Uid: 9, Gid: 9}) {
		t.Error("modes are read wrong")
	}
	if user, groups := l.everybody().identity(); user != "ann" || strings.Join(groups, " ") != "adm ann dev" {
		t.Errorf("%s is in %q", user, groups)
	}
}

// TestGitIsReadAsGitReads: the audit had a regular expression for lines of settings, and
// read these otherwise than git does.
func TestGitIsReadAsGitReads(t *testing.T) {
	for text, want := range map[string]string{
		"[push]\n\tdefault = \\\nmatching\n":                      "AU-135", // goes on in the next line
		"[push]\n\tdefault = match\"ing\"\n":                      "AU-135",
		"[http]\n\tsslVerify = false ; \"why\"\n":                 "AU-134", // a comment with a quote in it
		"[http \"https://a.test/#x\"]\n\tsslVerify = off\n":       "AU-134",
		"[push]\n\tdefault = simple\n# default = matching\n":      "",
		"[user]\n\tname = \"x\\n[push]\\n default = matching\"\n": "",
	} {
		f := newFixture(t)
		f.home(".gitconfig", 0o644, text)
		var got []string
		for _, finding := range f.audit().Findings {
			if strings.HasPrefix(finding.ID, "AU-13") {
				got = append(got, finding.ID)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
