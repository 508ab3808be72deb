package install

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy/agent"
)

// TestUpdater: the agent's own installer put itself back in the place of the shadow.
func TestUpdater(t *testing.T) {
	h := newHost(t, hosts["native"])
	h.install()
	name := filepath.Join(h.home, ".local/bin/claude")
	newer := func() {
		if err := errors.Join(os.Remove(name), os.Symlink("../share/claude/versions/2.2.0", name)); err != nil {
			t.Fatal(err)
		}
	}
	newer()
	if st := h.shadow().State(filepath.Join(h.home, ".local/bin")); st.Stands || st.Active || st.Advice == "" {
		t.Errorf("%+v", st)
	}
	h.install()
	if !h.stands() {
		t.Fatal("no shadow stands")
	}
	h.uninstall()
	if to, err := os.Readlink(name); err != nil || to != "../share/claude/versions/2.2.0" {
		t.Errorf("%q %v", to, err)
	}
	// And without a second install: the new one stays, the old one goes.
	h.install()
	newer()
	h.uninstall()
	if got := h.tree(); len(got) != 4 { // home, .local, bin, claude
		t.Errorf("%v", got)
	}
}

// TestTwoFiles: neither is thrown away, both may be somebody's work.
func TestTwoFiles(t *testing.T) {
	h := newHost(t, hosts["a wrapper"])
	h.install()
	name := filepath.Join(h.home, ".local/bin/claude")
	if err := errors.Join(os.Remove(name), os.WriteFile(name, []byte("another"), 0o755)); err != nil {
		t.Fatal(err)
	}
	before := h.tree()
	if _, err := h.store().Install(h.shadow()); fault.KindOf(err) != fault.Refused {
		t.Errorf("%v", err)
	}
	for path, what := range before {
		if strings.Contains(path, "/bin/") && h.tree()[path] != what {
			t.Errorf("%s changed", path)
		}
	}
	done, err := h.store().Uninstall("claude")
	if err != nil || done[name].Left == "" {
		t.Errorf("%v %v", done, err)
	}
}

// TestTricks: a place that leads elsewhere, or that others can write, is refused, and
// nothing is left of the attempt.
func TestTricks(t *testing.T) {
	for name, make := range map[string]func(h host){
		"a linked directory": func(h host) {
			h.write("elsewhere/x", "", 0o600)
			h.link(".local/bin", filepath.Join(h.home, "elsewhere"))
		},
		"a linked parent": func(h host) {
			h.write("elsewhere/bin/x", "", 0o600)
			h.link(".local", filepath.Join(h.home, "elsewhere"))
		},
		"a directory for all": func(h host) {
			h.write(".local/bin/x", "", 0o600)
			if err := os.Chmod(filepath.Join(h.home, ".local/bin"), 0o777); err != nil {
				h.t.Fatal(err)
			}
		},
		"a directory of the name": func(h host) { h.write(".local/bin/claude/x", "", 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t, make)
			before := h.tree()
			_, err := h.store().Install(h.shadow())
			if fault.KindOf(err) != fault.Refused {
				t.Errorf("%v", err)
			}
			h.expect(before)
		})
	}
}

// TestScript runs the shadow as a shell would: outside it starts ringfence with exactly
// its arguments; without ringfence it fails; inside it gives way.
func TestScript(t *testing.T) {
	h := newHost(t, hosts["a wrapper"])
	program := filepath.Join(h.home, "it's here/ringfence")
	sh := h.shadow()
	sh.Program = program
	if _, err := h.store().Install(sh); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) (string, int) {
		cmd := exec.Command(sh.String(), args...)
		cmd.Env = []string{"PATH=" + sh.Dir + ":/usr/bin:/bin"}
		out, _ := cmd.CombinedOutput()
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, status := run("-p", "hi")
	if status != 127 || !strings.Contains(out, "is gone") || strings.Contains(out, "real") {
		t.Errorf("%d %q", status, out)
	}
	h.write("it's here/ringfence", "#!/bin/sh\nfor a; do printf '<%s>' \"$a\"; done\nexit 7\n", 0o755)
	out, status = run("--resume", "x y", "-p", "", "a\nb", "$HOME", "*", "--")
	if want := "<claude><--><--resume><x y><-p><><a\nb><$HOME><*><-->"; out != want || status != 7 {
		t.Errorf("%d %q, want %q", status, out, want)
	}
}

// TestFind: whatever PATH looks like, the agent that is found is never a shadow.
func TestFind(t *testing.T) {
	h := newHost(t, hosts["nothing"])
	p, err := agent.Load("claude", "")
	if err != nil {
		t.Fatal(err)
	}
	h.install()
	second := h.shadow()
	second.Dir = filepath.Join(h.home, "second")
	if _, err := h.store().Install(second); err != nil {
		t.Fatal(err)
	}
	h.link("third/claude", "../.local/bin/claude") // a link to a shadow
	h.link("fourth/claude", "../third/claude")
	path := strings.Join([]string{h.home + "/fourth", h.home + "/third", h.home + "/.local/bin", h.home + "/second"}, ":")
	if got := Real(p, path, h.home); got != "" {
		t.Errorf("found %q", got)
	}
	// A link to a shadow leads to what that one keeps.
	h.write(".local/bin/.claude.ringfence-kept", "#!/bin/sh\n", 0o755)
	if got := Real(p, h.home+"/fourth", h.home); got != h.home+"/.local/bin/.claude.ringfence-kept" {
		t.Errorf("found %q", got)
	}
	if err := os.Remove(filepath.Join(h.home, ".local/bin/.claude.ringfence-kept")); err != nil {
		t.Fatal(err)
	}
	h.write("npm/claude", "#!/bin/sh\n", 0o755)
	if got := Real(p, path+":"+h.home+"/npm", h.home); got != h.home+"/npm/claude" {
		t.Errorf("found %q", got)
	}
}

func TestAliases(t *testing.T) {
	h := newHost(t, hosts["nothing"])
	h.write(".bashrc", "# alias claude=x\nalias claude='~/.claude/local/claude'\nalias claudette=x\nfunction claude { :; }\nfunction claude2 { :; }\n", 0o600)
	got := Aliases(h.home, "claude")
	if strings.Join(got, " ") != "~/.bashrc:2 ~/.bashrc:4" {
		t.Errorf("%q", got)
	}
}

// TestRecord: what a record says is removed, so it has to make sense.
func TestRecord(t *testing.T) {
	for _, bad := range []string{"", "[]", `{"shadows":[{"agent":"a","name":"../x","dir":"/d","program":"/p"}]}`,
		`{"shadows":[{"agent":"a","name":"x","dir":"d","program":"/p"}]}`, `{"made":["/"],"shadows":null}`, `{"made":["../x"],"shadows":null}`, `{"more":1}`,
		`{"shadows":[{"agent":"a;b","name":"x","dir":"/d","program":"/p"}]}`} {
		if _, err := parse([]byte(bad), "x"); err == nil {
			t.Errorf("%s: accepted", bad)
		}
	}
}

// TestAtOnce: many installs and uninstalls at a time lose nothing and leave nothing.
func TestAtOnce(t *testing.T) {
	h := newHost(t, hosts["native"])
	before := h.tree()
	names := []string{"claude", "codex", "gemini", "opencode", "five", "six", "seven", "eight"}
	all := func(do func(sh Shadow) error) {
		t.Helper()
		errs := make(chan error)
		for _, name := range names {
			sh := h.shadow()
			sh.Agent, sh.Name = name, name
			go func() { errs <- do(sh) }()
		}
		for range names {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	}
	for range 5 {
		all(func(sh Shadow) error {
			_, err := h.store().Install(sh)
			return err
		})
		if r, err := h.store().Load(); err != nil || len(r.Shadows) != len(names) {
			t.Fatalf("%d shadows, %v", len(r.Shadows), err)
		}
		all(func(sh Shadow) error {
			_, err := h.store().Uninstall(sh.Agent)
			return err
		})
		h.expect(before)
	}
}
