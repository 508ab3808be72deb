package toolchain

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ringfence.dev/ringfence/internal/file"
)

// host is a small host in a directory of the test: paths in it look as on a real
// one. A line "a -> b" is a symlink, "a/" a directory, any other an empty file.
type host struct {
	t    *testing.T
	root string
	env  map[string]string
}

func newHost(t *testing.T, lines ...string) host {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := host{t, root, map[string]string{}}
	h.add(append(lines, "/usr/bin/", "/usr/local/bin/", "/home/u/", "/home/u/ws/")...)
	return h
}

func (h host) add(lines ...string) {
	h.t.Helper()
	for _, line := range lines {
		path, target, link := strings.Cut(line, " -> ")
		real := h.root + path
		err := os.MkdirAll(filepath.Dir(strings.TrimSuffix(real, "/")), 0o755)
		switch {
		case err != nil:
		case link:
			if filepath.IsAbs(target) {
				target = h.root + target
			}
			err = os.Symlink(target, real)
		case strings.HasSuffix(path, "/"):
			err = os.MkdirAll(real, 0o755)
		default:
			err = os.WriteFile(real, nil, 0o755)
		}
		if err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h host) write(path, text string) {
	h.t.Helper()
	h.add(filepath.Dir(path) + "/")
	if err := os.WriteFile(h.root+path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h host) input(path ...string) Input {
	return Input{
		Path: strings.Join(path, ":"), Home: "/home/u", Workspaces: []string{"/home/u/ws"},
		Env: func(name string) string { return h.env[name] },
		Credential: func(path string) string {
			for _, secret := range []string{"/home/u/.ssh", "/home/u/.local/share/keyrings", "/opt/app/secrets"} {
				if file.Within(secret, path) || file.Within(path, secret) {
					return secret
				}
			}
			return ""
		},
		Look: Lookup{
			Stat: func(p string) (fs.FileInfo, error) { return os.Stat(h.root + p) },
			Resolve: func(p string) (string, error) {
				r, err := filepath.EvalSymlinks(h.root + p)
				return strings.TrimPrefix(r, h.root), err
			},
			ReadDir:  func(p string) ([]fs.DirEntry, error) { return os.ReadDir(h.root + p) },
			ReadFile: func(p string) ([]byte, error) { return os.ReadFile(h.root + p) },
		},
	}
}

// text writes what was found one fact a line, with ~ for HOME.
func text(f Found) string {
	var b strings.Builder
	for _, r := range f.Roots {
		fmt.Fprintf(&b, "show %s (%s)", r.Path, r.Why)
		if r.Resolved != r.Path {
			fmt.Fprintf(&b, " from %s", r.Resolved)
		}
		b.WriteByte('\n')
	}
	for _, p := range f.Hidden {
		fmt.Fprintf(&b, "hide %s\n", p)
	}
	for _, p := range f.Path {
		fmt.Fprintf(&b, "path %s\n", p)
	}
	for _, s := range f.Env {
		fmt.Fprintf(&b, "env %s=%s\n", s.Name, s.Value)
	}
	for _, d := range f.Dropped {
		fmt.Fprintf(&b, "drop %q: %s\n", d.Entry, d.Reason)
	}
	return strings.ReplaceAll(b.String(), "/home/u", "~")
}

func expect(t *testing.T, got Found, want string) {
	t.Helper()
	want = strings.ReplaceAll(strings.TrimLeft(want, "\n"), "\t", "")
	if diff := cmp.Diff(want, text(got)); diff != "" {
		t.Error(diff)
	}
}

func TestVersionManagers(t *testing.T) {
	h := newHost(t,
		"/home/u/.nvm/versions/node/v22/bin/node", "/home/u/.nvm/versions/node/v22/etc/npmrc", "/home/u/.nvm/nvm.sh",
		"/home/u/.pyenv/shims/python", "/home/u/.pyenv/bin/pyenv",
		"/home/u/.cargo/bin/cargo", "/home/u/.cargo/env", "/home/u/.cargo/credentials.toml", "/home/u/.rustup/toolchains/",
		"/home/u/go/bin/gopls", "/home/u/go/pkg/", "/home/u/go/src/private/",
		"/home/u/.asdf/shims/ruby", "/home/u/.tool-versions")
	h.env = map[string]string{"NVM_DIR": "/home/u/.nvm", "PYENV_ROOT": "/home/u/.pyenv", "CARGO_HOME": "/home/u/.cargo", "GOROOT": "/nowhere"}
	expect(t, Find(h.input("/home/u/.nvm/versions/node/v22/bin", "/home/u/.pyenv/shims", "/home/u/.pyenv/bin",
		"/home/u/.cargo/bin", "/home/u/go/bin", "/home/u/.asdf/shims", "/usr/local/bin", "/usr/bin")), `
		show ~/.asdf (asdf)
		show ~/.cargo/bin (cargo)
		show ~/.cargo/env (cargo)
		show ~/.nvm (nvm)
		show ~/.pyenv (pyenv)
		show ~/.rustup (rustup)
		show ~/.tool-versions (asdf)
		show ~/go/bin (GOPATH)
		hide ~/.nvm/versions/node/v22/etc/npmrc
		path ~/.nvm/versions/node/v22/bin
		path ~/.pyenv/shims
		path ~/.pyenv/bin
		path ~/.cargo/bin
		path ~/go/bin
		path ~/.asdf/shims
		path /usr/local/bin
		path /usr/bin
		env NVM_DIR=~/.nvm
		env PYENV_ROOT=~/.pyenv
	`)
}

func TestMovedByVariable(t *testing.T) {
	h := newHost(t, "/data/pyenv/shims/python", "/data/rust/cargo/bin/cargo", "/data/rust/up/toolchains/", "/home/u/.ssh/bin/x")
	h.env = map[string]string{
		"PYENV_ROOT": "/data/pyenv", "CARGO_HOME": "/data/rust/cargo", "RUSTUP_HOME": "/data/rust/up",
		"NVM_DIR": "/home/u/.ssh", "VOLTA_HOME": "/home/u", "RBENV_ROOT": "/",
	}
	expect(t, Find(h.input("/data/pyenv/shims", "/data/rust/cargo/bin", "/home/u/.ssh/bin")), `
		show /data/pyenv (pyenv)
		show /data/rust/cargo/bin (cargo)
		show /data/rust/up (rustup)
		path /data/pyenv/shims
		path /data/rust/cargo/bin
		env PYENV_ROOT=/data/pyenv
		env RUSTUP_HOME=/data/rust/up
		drop "~/.ssh/bin": holds a credential: ~/.ssh
	`)
}

// What looks like a toolchain is one, wherever it lies.
func TestBeside(t *testing.T) {
	h := newHost(t,
		"/home/u/sdk/go1/bin/go", "/home/u/sdk/go1/src/runtime/", "/home/u/sdk/go1/pkg/tool/",
		"/home/u/jdk -> jdks/21", "/home/u/jdks/21/bin/java", "/home/u/jdks/21/release", "/home/u/jdks/21/lib/jvm.cfg",
		"/home/u/.npm-global/bin/x", "/home/u/.npm-global/lib/node_modules/", "/home/u/.npm-global/etc/npmrc",
		"/home/u/conda/bin/python", "/home/u/conda/conda-meta/", "/home/u/conda/.condarc", "/home/u/conda/lib/node_modules/",
		"/home/u/.local/bin/x", "/home/u/.local/lib/node_modules/", "/home/u/.local/share/keyrings/login")
	h.env = map[string]string{"JAVA_HOME": "/home/u/jdk", "GOROOT": "/home/u/sdk/go1"}
	expect(t, Find(h.input("/home/u/sdk/go1/bin", "/home/u/jdk/bin", "/home/u/.npm-global/bin", "/home/u/conda/bin", "/home/u/.local/bin")), `
		show ~/.local/bin (npm prefix)
		show ~/.local/lib/node_modules (npm prefix)
		show ~/.npm-global/bin (npm prefix)
		show ~/.npm-global/lib/node_modules (npm prefix)
		show ~/conda (conda)
		show ~/jdk (jdk) from ~/jdks/21
		show ~/sdk/go1 (go)
		hide ~/conda/.condarc
		path ~/sdk/go1/bin
		path ~/jdk/bin
		path ~/.npm-global/bin
		path ~/conda/bin
		path ~/.local/bin
		env GOROOT=~/sdk/go1
		env JAVA_HOME=~/jdk
	`)
}

// Links lead to toolchains; a link to anywhere else shows nothing.
func TestLinks(t *testing.T) {
	h := newHost(t,
		"/home/u/.local/share/uv/tools/ruff/bin/ruff", "/home/u/.local/share/uv/python/", "/home/u/.local/share/uv/credentials/",
		"/home/u/.local/share/claude/versions/2", "/home/u/.local/share/keyrings/login", "/home/u/private/key",
		"/home/u/.local/bin/ruff -> ../share/uv/tools/ruff/bin/ruff", "/home/u/.local/bin/claude -> /home/u/.local/share/claude/versions/2",
		"/home/u/.local/bin/key -> /home/u/private/key", "/home/u/.local/bin/dangling -> /nowhere",
		"/usr/local/bin/tool -> /opt/tool/bin/tool", "/opt/tool/bin/tool", "/opt/tool/lib/x", "/opt/other/x")
	expect(t, Find(h.input("/home/u/.local/bin", "/usr/local/bin")), `
		show ~/.local/bin (PATH)
		show ~/.local/share/claude/versions (claude)
		show ~/.local/share/uv/python (uv)
		show ~/.local/share/uv/tools (uv)
		show /opt/tool (opt)
		path ~/.local/bin
		path /usr/local/bin
	`)
}

// An entry that is a link into a toolchain is put on PATH by its real name.
func TestResolvedEntries(t *testing.T) {
	h := newHost(t,
		"/nix/store/abc-env/bin/hello", "/home/u/.nix-profile -> .local/state/nix/profiles/profile",
		"/home/u/.local/state/nix/profiles/profile -> /nix/store/abc-env", "/run/current-system/sw -> /nix/store/abc-env",
		"/home/u/.local/share/fnm/node-versions/v20/installation/bin/node", "/run/user/1/fnm_multishells/7 -> /home/u/.local/share/fnm/node-versions/v20/installation",
		"/home/u/sys -> /usr/bin", "/home/u/wsbin -> /home/u/ws/bin", "/home/u/ws/bin/",
		"/home/u/.pyenv -> /data/pyenv", "/data/pyenv/shims/python")
	expect(t, Find(h.input("/home/u/.nix-profile/bin", "/run/current-system/sw/bin", "/run/user/1/fnm_multishells/7/bin",
		"/home/u/sys", "/home/u/wsbin", "/home/u/.pyenv/shims")), `
		show ~/.local/share/fnm (fnm)
		show ~/.pyenv (pyenv) from /data/pyenv
		show /nix/store (nix)
		path /nix/store/abc-env/bin
		path ~/.local/share/fnm/node-versions/v20/installation/bin
		path /usr/bin
		path ~/ws/bin
		path ~/.pyenv/shims
	`)
}

func TestUnknownDirectories(t *testing.T) {
	h := newHost(t,
		"/home/u/bin/x", "/home/u/sneaky -> /home/u", "/home/u/src/app/", "/srv/tools/bin/", "/tmp/bin/", "/etc/x/bin/", "/snap/bin/",
		"/mnt/c/Windows/", "/mnt/data/bin/", "/home/u/.vscode-server/bin/x/bin/", "/home/other/", "/home/other/bin/", "/home/u/open/",
		"/opt/app/bin/", "/opt/app/secrets", "/home/u/file")
	if err := os.Chmod(h.root+"/home/u/open", 0o777); err != nil {
		t.Fatal(err)
	}
	in := h.input("/home/u/bin/", "/home/u/bin", "", ".", "node_modules/.bin", "/home/u/ws/node_modules/.bin", "/home/u", "/home/u/sneaky", "/home", "/",
		"/srv", "/srv/tools/bin", "/tmp/bin", "/etc/x/bin", "/snap/bin", "/mnt/c/Windows", "/mnt/data/bin", "/home/u/.vscode-server/bin/x/bin",
		"/home/other", "/home/other/bin", "/home/u/open", "/opt/app/bin", "/home/u/file", "/home/u/none", "/home/u/src")
	in.Workspaces = append(in.Workspaces, "/home/u/src/app")
	expect(t, Find(in), `
		show /home/other/bin (PATH)
		show ~/bin (PATH)
		show /mnt/data/bin (PATH)
		show /opt/app/bin (PATH)
		show /srv/tools/bin (PATH)
		path ~/bin
		path ~/ws/node_modules/.bin
		path /srv/tools/bin
		path /mnt/data/bin
		path /home/other/bin
		path /opt/app/bin
		drop "": not absolute: it means another directory wherever it is used
		drop ".": not absolute: it means another directory wherever it is used
		drop "node_modules/.bin": not absolute: it means another directory wherever it is used
		drop "~": holds HOME
		drop "~/sneaky": holds HOME
		drop "/home": holds HOME
		drop "/": holds HOME
		drop "/srv": holds more than programs
		drop "/tmp/bin": inside, /tmp is private
		drop "/etc/x/bin": inside, /etc is private
		drop "/snap/bin": snaps start through a setuid program
		drop "/mnt/c/Windows": a drive of Windows: programs there run outside the sandbox
		drop "~/.vscode-server/bin/x/bin": talks to the editor on the host
		drop "/home/other": holds more than programs
		drop "~/open": anyone can write to it
		drop "~/file": no such directory
		drop "~/none": no such directory
		drop "~/src": holds the workspace and what lies beside it
	`)
}

// The store of pnpm is a cache and lies in its root: the root is shown in parts.
func TestPnpm(t *testing.T) {
	h := newHost(t, "/home/u/.local/share/pnpm/pnpm", "/home/u/.local/share/pnpm/global/", "/home/u/.local/share/pnpm/store/", "/home/u/.local/share/pnpm/auth.ini")
	h.env["PNPM_HOME"] = "/home/u/.local/share/pnpm"
	got := Find(h.input("/home/u/.local/share/pnpm"))
	for _, r := range got.Roots {
		if strings.HasSuffix(r.Path, "store") || strings.HasSuffix(r.Path, "auth.ini") {
			t.Errorf("%s is shown", r.Path)
		}
	}
	expect(t, got, `
		show ~/.local/share/pnpm/global (pnpm)
		show ~/.local/share/pnpm/pnpm (pnpm)
		path ~/.local/share/pnpm
		env PNPM_HOME=~/.local/share/pnpm
	`)
}

func TestCopies(t *testing.T) {
	h := newHost(t, "/home/u/.local/share/mise/shims/node")
	h.write("/home/u/.config/mise/config.toml", "[env]\nMY_TOKEN = 'canary'\n[tools]\nnode = '22'\n")
	got := Find(h.input("/home/u/.local/share/mise/shims"))
	want := []Copy{{"/home/u/.config/mise/config.toml", []byte("[tools]\nnode = '22'\n"), "mise"}}
	if diff := cmp.Diff(want, got.Copies); diff != "" {
		t.Error(diff)
	}
	h.write("/home/u/.config/mise/config.toml", "[tools\n")
	if got := Find(h.input("/home/u/.local/share/mise/shims")); got.Copies != nil {
		t.Errorf("a malformed file is shown: %q", got.Copies)
	}
}

// A directory that is too large to be searched for what must be hidden is not
// shown.
func TestHideIsNeverIncomplete(t *testing.T) {
	h := newHost(t, "/home/u/.nvm/versions/node/v1/bin/node", "/home/u/.nvm/versions/node/v1/etc/npmrc")
	in := h.input("/home/u/.nvm/versions/node/v1/bin")
	if got := Find(in); len(got.Roots) != 1 || len(got.Hidden) != 1 {
		t.Fatalf("control: %+v", got)
	}
	readDir := in.Look.ReadDir
	in.Look.ReadDir = func(p string) ([]fs.DirEntry, error) {
		entries, err := readDir(p)
		if strings.HasSuffix(p, "/node") {
			entries = make([]fs.DirEntry, maxEntries+1)
		}
		return entries, err
	}
	for _, r := range Find(in).Roots {
		if file.Within("/home/u/.nvm/versions/node/v1/etc/npmrc", r.Path) {
			t.Errorf("%s is shown", r.Path)
		}
	}
}

func TestHomeWithBrackets(t *testing.T) {
	h := newHost(t, "/home/a[b]*/.pyenv/shims/python", "/home/a[b]*/.vscode-server/bin/")
	in := h.input("/home/a[b]*/.pyenv/shims", "/home/a[b]*/.vscode-server/bin")
	in.Home = "/home/a[b]*"
	got := Find(in)
	if len(got.Roots) != 1 || got.Roots[0].Path != "/home/a[b]*/.pyenv" || len(got.Dropped) != 1 {
		t.Errorf("got %+v", got)
	}
}

func FuzzReduce(f *testing.F) {
	f.Add([]byte("[env]\nA='x'\n[tools]\nnode='22'\n"))
	f.Add([]byte("tools = [[1], {a = 1979-05-27}]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		once, err := reduce(text, []string{"tools"})
		if err != nil {
			return
		}
		twice, err := reduce(once, []string{"tools"})
		if err != nil || string(once) != string(twice) {
			t.Errorf("%v: %q %q", err, once, twice)
		}
	})
}
