package audit

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
)

// fixture is a made-up machine with a user and a project. What a clean one holds is
// what a careful person has: keys with a passphrase, an agent behind a shadow, its
// own sandbox on, a repository with a remote in the user's name.
type fixture struct {
	t     testing.TB
	dir   string
	World World
}

// Secrets in here have the shape of real ones and open nothing.
const (
	fakeToken = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"
	fakeWord  = "correct-horse-battery"
)

const cleanClaude = `{
  "sandbox": {
    "enabled": true,
    "allowUnsandboxedCommands": false,
    "filesystem": {
      "denyRead": ["~/.ssh", "~/.gnupg", "~/.aws", "~/.azure", "~/.config/gcloud", "~/.kube", "~/.docker/config.json", "~/.config/gh", "~/.netrc", "~/.npmrc", "~/.pypirc", "~/.git-credentials", "~/.vault-token", "~/.config/rclone", "~/.cargo/credentials.toml"]
    },
    "network": {"allowedDomains": ["example.test"]}
  },
  "permissions": {
    "defaultMode": "default",
    "allow": ["Bash(go test:*)", "WebFetch(domain:docs.example.test)"],
    "deny": [
      "Bash(sudo *)",
      "Read(~/.ssh/**)", "Read(~/.gnupg/**)", "Read(~/.aws/**)", "Read(~/.azure/**)", "Read(~/.config/gcloud/**)", "Read(~/.kube/**)", "Read(~/.docker/**)", "Read(~/.config/gh/**)",
      "Read(~/.netrc)", "Read(~/.npmrc)", "Read(~/.pypirc)", "Read(~/.git-credentials)", "Read(~/.vault-token)", "Read(~/.config/rclone/**)", "Read(~/.cargo/**)"
    ]
  },
  "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "ringfence hook claude"}]}]}
}
`

// newFixture lays a clean one out.
func newFixture(t testing.TB) *fixture {
	dir, err := os.MkdirTemp("", "posture")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	f := &fixture{t: t, dir: dir}
	home := filepath.Join(dir, "root/home/ann")
	f.World = World{
		Root: filepath.Join(dir, "root"), Home: home, Project: filepath.Join(home, "src/p"),
		UID: 1000, GIDs: []int{1000}, Umask: 0o022,
		Facts: hostfacts.Facts{Landlock: 6, Calls: hostfacts.Calls{Seccomp: hostfacts.Present}, Sysctl: hostfacts.Sysctl{
			MaxUserNS: 1000, UnprivUserNS: 1, AppArmorUserNS: 0, LegacyTIOCSTI: 0, YamaPtraceScope: 1}},
		Kernel: Kernel{KptrRestrict: 1, DmesgRestrict: 1, BPFDisabled: 2, PerfParanoid: 3, CgroupV2: true},
		Binary: filepath.Join(dir, "root/usr/bin/ringfence"), Config: filepath.Join(home, ".config/ringfence"),
		State: filepath.Join(home, ".local/state/ringfence"), Ceiling: "/etc/ringfence/policy.toml",
		Environ: []string{"HOME=" + home, "LANG=C.UTF-8", "XDG_RUNTIME_DIR=" + filepath.Join(dir, "root/run/user/1000"),
			"PATH=" + home + "/.local/bin:" + dir + "/root/usr/bin"},
	}
	f.clean()
	return f
}

func (f *fixture) clean() {
	f.dirs("root/usr/bin", "root/etc/sudoers.d", "root/run/user/1000", "root/var/run", "root/home/ann/src/p/.git/objects", "root/home/ann/src/p/.git/refs", "root/home/ann/.local/state/ringfence")
	f.machine("/usr/bin/ringfence", 0o755, "ringfence")
	f.machine("/etc/passwd", 0o644, "root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n")
	f.machine("/etc/group", 0o644, "root:x:0:\ndocker:x:990:\nlxd:x:991:\nann:x:1000:\n")
	f.machine("/etc/sudoers", 0o644, "root ALL=(ALL) ALL\n%sudo ALL=(ALL) ALL\n")
	f.home(".local/bin/claude", 0o755, "#!/bin/sh\n"+agent.ShadowMark+"1: claude is the fenced one.\nexec ringfence claude -- \"$@\"\n")
	f.machine("/usr/bin/claude", 0o755, "the real one\n")
	f.home(".claude/settings.json", 0o600, cleanClaude)
	f.home(".claude.json", 0o600, "{\n\"mcpServers\": {\n  \"docs\": {\"command\": \"npx\", \"args\": [\"-y\", \"@acme/docs-mcp@1.4.2\"], \"env\": {\"DOCS_TOKEN\": \"${DOCS_TOKEN}\"}}\n}\n}\n")
	f.home(".codex/config.toml", 0o600, "approval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\n")
	f.home(".gemini/settings.json", 0o600, "{\n  \"tools\": {\"sandbox\": true}\n}\n")
	f.home(".config/opencode/opencode.json", 0o600, "{\n  \"permission\": {\"bash\": \"ask\", \"edit\": \"ask\"}\n}\n")
	f.home(".ssh/id_ed25519", 0o600, sshKey("aes256-ctr"))
	f.home(".ssh/id_ed25519.pub", 0o644, "ssh-ed25519 AAAA ann@example.test\n")
	f.home(".ssh/config", 0o600, "Host jump.example.test\n  ForwardAgent yes\n\nHost *\n  ForwardAgent no\n")
	f.home(".gnupg/pubring.kbx", 0o600, "")
	f.home(".bashrc", 0o644, "# claude --dangerously-skip-permissions is not for here\nalias c='ringfence claude -- --dangerously-skip-permissions'\nexport EDITOR=vi\n")
	f.home(".bash_history", 0o600, "ls\ngit status\nexport GITHUB_TOKEN=$(pass github)\n")
	f.home(".gitconfig", 0o644, "[user]\n\tname = Ann\n\temail = ann@example.test\n[credential]\n\thelper = cache --timeout=60\n[push]\n\tdefault = simple\n")
	f.home(".npmrc", 0o600, "//registry.example.test/:_authToken=${NPM_TOKEN}\nfund=false\n")
	f.home(".config/ringfence/policy.toml", 0o600, "[network]\nmode = \"dev\"\n")
	f.project(".git/HEAD", 0o644, "ref: refs/heads/main\n")
	f.project(".git/config", 0o644, "[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote \"origin\"]\n\turl = https://forge.test/ann/p.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n")
	f.project("main.go", 0o644, "package main\n")
	f.project(".env.example", 0o644, "API_TOKEN=\n")
	for _, d := range []string{f.World.Home, f.World.Home + "/.ssh", f.World.State, f.World.Config} {
		f.chmod(d, 0o700)
	}
}

func (f *fixture) dirs(rels ...string) {
	for _, rel := range rels {
		if err := os.MkdirAll(filepath.Join(f.dir, rel), 0o755); err != nil {
			f.t.Fatal(err)
		}
	}
}

func (f *fixture) write(path string, mode os.FileMode, text string) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.chmod(path, mode)
}

func (f *fixture) chmod(path string, mode os.FileMode) {
	if err := os.Chmod(path, mode); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) home(rel string, mode os.FileMode, text string) {
	f.write(filepath.Join(f.World.Home, rel), mode, text)
}

func (f *fixture) project(rel string, mode os.FileMode, text string) {
	f.write(filepath.Join(f.World.Project, rel), mode, text)
}

func (f *fixture) machine(path string, mode os.FileMode, text string) {
	f.write(f.World.Root+path, mode, text)
}

// edit changes one piece of a file, which must be there.
func (f *fixture) edit(path, old, new string) {
	b, err := os.ReadFile(path)
	if err != nil || strings.Count(string(b), old) == 0 {
		f.t.Fatalf("%s does not hold %q: %v", path, old, err)
	}
	st, err := os.Stat(path)
	if err != nil {
		f.t.Fatal(err)
	}
	f.write(path, st.Mode().Perm(), strings.Replace(string(b), old, new, 1))
}

func (f *fixture) claude(old, new string) { f.edit(f.World.Home+"/.claude/settings.json", old, new) }

// socket makes the name of a socket: nobody listens, and nobody is asked.
func (f *fixture) socket(path string, mode uint32) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := unix.Mknod(path, unix.S_IFSOCK|mode, 0); err != nil {
		f.t.Fatal(err)
	}
	f.chmod(path, os.FileMode(mode))
}

func (f *fixture) env(entry string) { f.World.Environ = append(f.World.Environ, entry) }

// sshKey is the frame of a private key, locked by the named cipher.
func sshKey(cipher string) string {
	raw := "openssh-key-v1\x00\x00\x00\x00" + string(rune(len(cipher))) + cipher + "\x00\x00\x00\x04none\x00\x00\x00\x00\x00\x00\x00\x01" + strings.Repeat("k", 60)
	return "-----BEGIN OPENSSH PRIVATE KEY-----\n" + base64.StdEncoding.EncodeToString([]byte(raw)) + "\n-----END OPENSSH PRIVATE KEY-----\n"
}
