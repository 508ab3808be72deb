package gvisor

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/work"
)

func TestWork(t *testing.T)     { work.Work(t, newFixture) }
func TestAttacked(t *testing.T) { work.Attacked(t, newFixture) }
func TestDays(t *testing.T)     { work.Days(t, newFixture) }

// TestKernel: the agent is not told the host's.
func TestKernel(t *testing.T) {
	host, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	r := newFixture(t).On("cat /proc/version", "--net", "none")
	if r.Status != 0 || !strings.Contains(r.Stdout, "gvisor") || strings.Contains(r.Stdout, string(host)) {
		t.Errorf("status %d\n%s\n%s", r.Status, r.Stdout, r.Stderr)
	}
}

// TestNoSandboxInside: what an agent's own sandbox is made of fails on the sentry too, which is
// why [agent] inner leaves it off here.
func TestNoSandboxInside(t *testing.T) {
	r := newFixture(t).On("bwrap --ro-bind / / --dev /dev --proc /proc true || echo no sandbox", "--net", "none")
	if !strings.Contains(r.Stdout, "no sandbox") || !strings.Contains(r.Stderr+r.Stdout, "namespace") {
		t.Errorf("status %d\n%s\n%s", r.Status, r.Stdout, r.Stderr)
	}
}

// TestPolicyTest: a live test knows the host's files by what is in them, because the sentry has
// numbers of its own for them; and what is the session's own is not taken for the host's.
func TestPolicyTest(t *testing.T) {
	f := newFixture(t)
	f.Put("main.go", []byte("package main\n"), 0o644)
	f.Put("t.test", []byte("allow read main.go\nallow exec /usr/bin/env\nallow read /usr/bin/env\nallow read /usr/lib\ndeny write /usr/bin/env\ndeny read /etc/shadow\ndeny read /etc/hostname\ndeny read ~/.netrc\n"), 0o644)
	secret := filepath.Join(stage.Home, ".netrc")
	t.Cleanup(func() { os.Remove(secret) })
	if err := os.WriteFile(secret, []byte("machine x.test login y password z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := f.Cmd("policy", "test", "t.test", "--live", "--rung", "gvisor").CombinedOutput()
	if err != nil || strings.Contains(string(out), "FAIL") || strings.Count(string(out), "tried inside 1") < 5 {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestMountsStay: what lies over a name of the workspace can be neither moved nor removed,
// so what it hides is not seen.
func TestMountsStay(t *testing.T) {
	f := newFixture(t)
	f.Put("hidden/f", []byte("REAL\n"), 0o644)
	f.Put("hiddenfile", []byte("REAL\n"), 0o644)
	f.Put("keep/k", []byte("kept\n"), 0o644)
	f.Put(".ringfence.toml", []byte("[network]\ndeny = [\"x.test\"]\n"), 0o644)
	f.Policy(fmt.Sprintf("[rung]\nrunsc = %q\n[files]\nmask = [\"hidden\", \"hiddenfile\"]\nread = [%q]\n", program(t), filepath.Join(f.Dir, "keep")))
	r := f.On(`for name in hidden hiddenfile keep .ringfence.toml; do
			mv $name moved-$name && echo moved $name; rmdir $name && echo removed $name; rm $name && echo removed $name; mkdir -p d; mv -T d $name && echo replaced $name
		done 2>/dev/null; echo x > keep/k && echo written; cat hidden/f hiddenfile moved-hidden/f moved-hiddenfile 2>/dev/null; true`, "--net", "none")
	if r.Status != 0 || r.Stdout != "" {
		t.Errorf("status %d\n%s%s", r.Status, r.Stdout, r.Stderr)
	}
}

// TestLateSecrets: a secret that comes into the workspace while the session runs is masked
// in its layer. One that comes elsewhere ends the session: no mount reaches the sentry.
func TestLateSecrets(t *testing.T) {
	f := newFixture(t)
	real := []byte("TOKEN=hunter2hunter2hunter2\n")
	cmd := f.Cmd("run", "--rung", "gvisor", "--net", "none", "--", "sh", "-c", `echo ready; read x; until [ -e d/.env ] && ! grep -q hunter d/.env; do sleep 0.05; done; grep -c TOKEN= d/.env`)
	f.Put("d/f", nil, 0o644)
	out := tell(f, cmd, func() { f.Put("d/.env", real, 0o600) })
	if out != "1\n" || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("in the workspace: status %d, %q", cmd.ProcessState.ExitCode(), out)
	}
	shared := t.TempDir()
	cmd = f.Cmd("run", "--rung", "gvisor", "--net", "none", "--ro", shared, "--", "sh", "-c", "echo ready; read x; sleep 1000")
	tell(f, cmd, func() {
		if err := os.WriteFile(filepath.Join(shared, "key.env"), real, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if s := cmd.ProcessState.ExitCode(); s == 0 {
		t.Errorf("elsewhere: status %d", s)
	}
}

// tell waits until a session is ready, does something, and returns what else it says.
func tell(f *work.Fixture, cmd *exec.Cmd, do func()) string {
	f.T.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		f.T.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.T.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "ready\n" {
		f.T.Errorf("%q, %v", line, err)
	}
	do()
	fmt.Fprintln(in, "go")
	rest, _ := io.ReadAll(said)
	cmd.Wait()
	return string(rest)
}

// TestRights: nothing around the sentry has a capability, nor has the sentry itself, and
// what its file server has is about files of a user namespace of its own.
func TestRights(t *testing.T) {
	for _, flags := range [][]string{nil, {"--net", "none"}} {
		f := newFixture(t)
		rights(t, sandbox(t, f.Supervisor(f.Start("sleep 1000", flags...))))
	}
}

func rights(t *testing.T, all []work.Process) {
	t.Helper()
	files := uint64(1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_SYS_CHROOT)
	seen := map[string]int{}
	for _, p := range all {
		kind, may := "around", uint64(0)
		if strings.HasPrefix(p.Argv, "runsc-") || p.Argv == "" {
			kind = "sentry"
		}
		if strings.HasPrefix(p.Argv, "runsc-gofer") {
			may = files
		}
		seen[kind]++
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			if have := p.Caps(t, set); have&^may != 0 {
				t.Errorf("%s (%q): %s is %x", kind, p.Argv, set, have)
			}
		}
		if p.Status["NoNewPrivs"] != "1" || p.Status["Seccomp"] != "2" {
			t.Errorf("%s (%q): NoNewPrivs %s, Seccomp %s", kind, p.Argv, p.Status["NoNewPrivs"], p.Status["Seccomp"])
		}
	}
	if seen["around"] != 1 || seen["sentry"] < 2 {
		t.Errorf("%v: PID 1 alone should stand around the sentry and its file server", seen)
	}
}

// TestProgram: the journal and status tell which program runs below the agent.
func TestProgram(t *testing.T) {
	f := newFixture(t)
	id := f.Start("sleep 1000", "--net", "none")
	b, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(b))
	var s struct{ Program struct{ Path, SHA256 string } }
	f.Eventually("the program in the status", func() bool {
		out, err := f.Cmd("status", "--json", id).Output()
		if err == nil {
			err = json.Unmarshal(out, &s)
		}
		if err != nil || s.Program.Path != program(t) {
			t.Fatalf("%v: %+v\n%s", err, s, out)
		}
		return s.Program.SHA256 == sum
	})
	f.Eventually("the program in the journal", func() bool {
		return slices.ContainsFunc(f.Journal(), func(r journal.Record) bool {
			return r.Event == journal.Below && r.Digest == "sha256:"+sum && slices.Equal(r.List.All(), []string{program(t)})
		})
	})
}

// TestRefused: a program that others can change, or another one than policy pins, starts
// nothing, and the native rung is never taken instead.
func TestRefused(t *testing.T) {
	f := newFixture(t)
	for name, text := range map[string]string{
		"absent":  "[rung]\nrunsc = \"/nowhere/runsc\"\n",
		"another": fmt.Sprintf("[rung]\nrunsc = %q\nrunsc-sha256 = %q\n", program(t), strings.Repeat("0", 64)),
		"no such": fmt.Sprintf("[rung]\nrunsc = %q\n", "/bin/sh"),
	} {
		f.Policy(text)
		if r := f.On("echo ran", "--net", "none"); r.Status != 125 && r.Status != 126 || r.Stdout != "" {
			t.Errorf("%s: status %d\n%s%s", name, r.Status, r.Stdout, r.Stderr)
		}
	}
}

// TestPostures: a posture for strangers, for a long run or for everything takes the highest
// rung that can be had, which is this one, without being told; another does not climb.
func TestPostures(t *testing.T) {
	f := newFixture(t)
	for name, climbs := range map[string]bool{"untrusted-repo": true, "autonomous": true, "paranoid": true, "work": false, "ci": false} {
		out, err := f.Cmd("run", "--no-input", "--net", "none", "--for", name, "--", "cat", "/proc/version").CombinedOutput()
		if err != nil || strings.Contains(string(out), "gvisor") != climbs {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
