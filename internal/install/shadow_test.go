package install

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/policy/agent"
)

// childEnv makes this binary do one thing and end, so that it can be killed in between.
const childEnv = "SHADOW_CHILD"

func TestMain(m *testing.M) {
	what, home, ok := strings.Cut(os.Getenv(childEnv), ":")
	if !ok {
		os.Exit(m.Run())
	}
	runtime.LockOSThread() // strace counts the calls of each thread
	h := host{home: home}
	var err error
	if what == "install" {
		_, err = h.store().Install(h.shadow())
	} else {
		_, err = h.store().Uninstall("claude")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// host is a home directory, as it is before anything is installed.
type host struct {
	t    *testing.T
	home string
}

func (h host) store() Store {
	return Store{filepath.Join(h.home, ".local/state/ringfence/install.json")}
}

func (h host) shadow() Shadow {
	return Shadow{Agent: "claude", Name: "claude", Dir: filepath.Join(h.home, ".local/bin"), Program: "/opt/ring'fence/ringfence"}
}

// hosts are how a machine may be found: each has a way to make it so.
var hosts = map[string]func(h host){
	"nothing":    func(h host) {},
	"native":     func(h host) { h.link(".local/bin/claude", "../share/claude/versions/2.1.0") },
	"dangling":   func(h host) { h.link(".local/bin/claude", "/nowhere") },
	"a wrapper":  func(h host) { h.write(".local/bin/claude", "#!/bin/sh\nexec real\n", 0o700) },
	"other dirs": func(h host) { h.write(".local/state/other/file", "x", 0o600) },
	"a state":    func(h host) { h.write(".local/state/ringfence/projects/x", "x", 0o600) },
}

func newHost(t *testing.T, make func(host)) host {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := host{t, home}
	h.write(".local/share/claude/versions/2.1.0", "\x7fELF", 0o755)
	if err := os.RemoveAll(filepath.Join(home, ".local/share")); err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(home, ".local"))
	make(h)
	return h
}

func (h host) write(rel, text string, mode os.FileMode) {
	path := filepath.Join(h.home, rel)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), mode)); err != nil {
		h.t.Fatal(err)
	}
}

func (h host) link(rel, to string) {
	path := filepath.Join(h.home, rel)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(to, path)); err != nil {
		h.t.Fatal(err)
	}
}

// tree is every name with what it is: kind, mode, content; of files also which one.
func (h host) tree() map[string]string {
	out := map[string]string{}
	err := filepath.WalkDir(h.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %q", data)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			text += " -> " + to
		}
		if !info.IsDir() {
			var st unix.Stat_t
			if err := unix.Lstat(path, &st); err != nil {
				return err
			}
			text += fmt.Sprint(" ", st.Ino)
		}
		out[path[len(h.home):]] = text
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return out
}

func (h host) install() Result {
	h.t.Helper()
	res, err := h.store().Install(h.shadow())
	if err != nil {
		h.t.Fatal(err)
	}
	return res
}

func (h host) uninstall() {
	h.t.Helper()
	if _, err := h.store().Uninstall("claude"); err != nil {
		h.t.Fatal(err)
	}
}

func (h host) expect(want map[string]string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.tree()); diff != "" {
		h.t.Errorf("something is left, or lost:\n%s", diff)
	}
}

// stands holds if what lies under the name is the shadow.
func (h host) stands() bool {
	data, err := os.ReadFile(filepath.Join(h.home, ".local/bin/claude"))
	return err == nil && agent.IsShadow(data)
}

func TestLeavesNoTrace(t *testing.T) {
	for name, make := range hosts {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, make)
			before := h.tree()
			for range 2 {
				h.install()
				if !h.stands() {
					t.Fatal("no shadow stands")
				}
			}
			h.uninstall()
			h.expect(before)
			h.uninstall()
			h.expect(before)
		})
	}
}

// calls are those that change something.
const calls = "mkdirat,mkdir,write,fsync,fchmod,fchmodat,renameat,renameat2,unlinkat,unlink,rmdir,flock"

// killed runs a child that is killed at its nth call; it reports whether that was so.
func (h host) killed(what string, n int) bool {
	h.t.Helper()
	cmd := exec.Command("strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace="+calls, "-e", "inject="+calls+":signal=SIGKILL:when="+strconv.Itoa(n), os.Args[0])
	cmd.Env = []string{childEnv + "=" + what + ":" + h.home, "PATH=/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err == nil {
		return false
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() == 1 {
		h.t.Fatalf("%v\n%s", err, out)
	}
	return true
}

// TestKilled kills install, and uninstall, before each of their calls that changes
// something. The name is never without something under it where there was something,
// and one uninstall puts everything back.
func TestKilled(t *testing.T) {
	if _, err := exec.LookPath("strace"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nothing", "native", "a state"} {
		make := hosts[name]
		for _, what := range []string{"install", "uninstall"} {
			t.Run(what+" "+name, func(t *testing.T) {
				for n := 1; ; n++ {
					h := newHost(t, make)
					before := h.tree()
					_, had := before["/.local/bin/claude"]
					if what == "uninstall" {
						h.install()
					}
					killed := h.killed(what, n)
					if _, err := os.Lstat(filepath.Join(h.home, ".local/bin/claude")); had && err != nil {
						t.Errorf("call %d: nothing stands under the name: %v", n, err)
					}
					h.uninstall()
					h.expect(before)
					if t.Failed() || !killed {
						if n < 8 {
							t.Errorf("only %d calls", n)
						}
						return
					}
				}
			})
		}
	}
}

// TestInstallAfterKill: install goes on as well.
func TestInstallAfterKill(t *testing.T) {
	h := newHost(t, hosts["native"])
	for n := 1; h.killed("install", n); n++ {
		h.install()
		if !h.stands() {
			t.Fatalf("call %d: no shadow stands", n)
		}
		h.uninstall()
	}
	if to, err := os.Readlink(filepath.Join(h.home, ".local/bin/claude")); err == nil && to != "../share/claude/versions/2.1.0" {
		t.Errorf("leads to %q", to)
	}
}
