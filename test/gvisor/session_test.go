package gvisor

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/world"
)

// TestWork: status, user, kernel, files that wait for review, what is hidden.
func TestWork(t *testing.T) {
	f := newFixture(t)
	f.Put("secret.env", []byte("TOKEN=hunter2hunter2hunter2\n"), 0o600)
	host, err := os.ReadFile("/proc/version")
	if err != nil {
		t.Fatal(err)
	}
	r := f.on(`id -u; cat /proc/version; echo new > made; echo changed >> ca.pem; ls /sys | wc -l; touch /usr/x /x /etc/x 2>/dev/null && echo written; exit 7`, "--net", "none")
	if r.Status != 7 || !strings.HasPrefix(r.Stdout, fmt.Sprintln(os.Getuid())) || !strings.Contains(r.Stdout, "gvisor") || strings.Contains(r.Stdout, string(host)) || !strings.HasSuffix(r.Stdout, "\n0\n") {
		t.Errorf("status %d\n%s\n%s", r.Status, r.Stdout, r.Stderr)
	}
	if _, err := os.Stat(filepath.Join(f.Dir, "made")); err == nil {
		t.Error("a file reached the host before it was applied")
	}
	if !strings.Contains(r.Stderr, "made") {
		t.Errorf("the review does not list the file:\n%s", r.Stderr)
	}
	out, err := f.command("apply", "--yes").CombinedOutput()
	if b, rerr := os.ReadFile(filepath.Join(f.Dir, "made")); err != nil || rerr != nil || string(b) != "new\n" {
		t.Errorf("apply: %v, %v, %q\n%s", err, rerr, b, out)
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
	f.policy(fmt.Sprintf("[rung]\nrunsc = %q\n[files]\nmask = [\"hidden\", \"hiddenfile\"]\nread = [%q]\n", program(t), filepath.Join(f.Dir, "keep")))
	r := f.on(`for name in hidden hiddenfile keep .ringfence.toml; do
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
	cmd := f.command("run", "--rung", "gvisor", "--net", "none", "--", "sh", "-c", `echo ready; read x; until [ -e d/.env ] && ! grep -q hunter d/.env; do sleep 0.05; done; grep -c TOKEN= d/.env`)
	f.Put("d/f", nil, 0o644)
	out := f.tell(cmd, func() { f.Put("d/.env", real, 0o600) })
	if out != "1\n" || cmd.ProcessState.ExitCode() != 0 {
		t.Errorf("in the workspace: status %d, %q", cmd.ProcessState.ExitCode(), out)
	}
	shared := t.TempDir()
	cmd = f.command("run", "--rung", "gvisor", "--net", "none", "--ro", shared, "--", "sh", "-c", "echo ready; read x; sleep 1000")
	f.tell(cmd, func() {
		if err := os.WriteFile(filepath.Join(shared, "key.env"), real, 0o600); err != nil {
			t.Fatal(err)
		}
	})
	if s := cmd.ProcessState.ExitCode(); s == 0 {
		t.Errorf("elsewhere: status %d", s)
	}
}

// tell waits until a session is ready, does something, and returns what else it says.
func (f *fixture) tell(cmd *exec.Cmd, do func()) string {
	f.t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		f.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		f.t.Fatal(err)
	}
	said := bufio.NewReader(out)
	if line, err := said.ReadString('\n'); line != "ready\n" {
		f.t.Errorf("%q, %v", line, err)
	}
	do()
	fmt.Fprintln(in, "go")
	rest, _ := io.ReadAll(said)
	cmd.Wait()
	return string(rest)
}

func TestEnds(t *testing.T) {
	f := newFixture(t)
	for script, want := range map[string]int{"true": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137, "/nowhere": 127} {
		if r := f.on(script, "--net", "none"); r.Status != want {
			t.Errorf("%s: status %d, want %d\n%s", script, r.Status, want, r.Stderr)
		}
	}
	if r := f.Run("--rung", "gvisor", "--net", "none", "--", "/nowhere"); r.Status != 127 {
		t.Errorf("a program that is not there: status %d\n%s", r.Status, r.Stderr)
	}
}

// TestNetwork: an allowed host answers through the gate, another one does not, and no
// address is reached around it.
func TestNetwork(t *testing.T) {
	f := newFixture(t)
	r := f.on(`curl -sS --cacert ca.pem https://allowed.test/ && echo reached
		curl -fsS -m 10 http://other.test/ && echo open
		curl -fsS -m 10 http://`+world.Router4+`/ && echo open
		curl -fsS -m 10 http://`+world.Host4+`/ && echo open; true`, "--allow-host", world.Allowed)
	if !strings.Contains(r.Stdout, "reached") || strings.Contains(r.Stdout, "open") {
		t.Errorf("%s\n%s", r.Stdout, r.Stderr)
	}
	for _, p := range f.Dialled() {
		if s := fmt.Sprint(p); strings.Contains(s, world.Host4+":80") {
			t.Errorf("the cable saw %s", s)
		}
	}
}

func TestPublish(t *testing.T) {
	f := newFixture(t)
	f.start("python3 -m http.server 3000 --bind 127.0.0.1", "--publish", "3000")
	f.eventually("an answer of the server inside", func() bool {
		r, err := http.Get("http://127.0.0.1:3000/ca.pem")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return strings.Contains(string(b), "CERTIFICATE")
	})
}

func TestTerminal(t *testing.T) {
	f := newFixture(t)
	p := f.sit("run", "--rung", "gvisor", "--net", "none", "--", "sh", "-c", `tty; stty size; trap 'echo size $(stty size)' WINCH; trap 'echo hear""d' INT; echo ready; while :; do read x && echo "got $x"; test "$x" = end && exit 5; done`)
	p.sees("/dev/pts/")
	p.sees("30 100")
	p.sees("ready")
	if err := pty.Setsize(p.tty, &pty.Winsize{Rows: 41, Cols: 121}); err != nil {
		t.Fatal(err)
	}
	p.types("\n")
	p.sees("size 41 121")
	p.types("\x03")
	p.sees("heard")
	p.types("end\n")
	p.sees("got end")
	if s := p.status(); s != 5 {
		t.Errorf("status %d", s)
	}
}

// TestInterrupted: Ctrl-C ends a program that does not mind it.
func TestInterrupted(t *testing.T) {
	f := newFixture(t)
	p := f.sit("run", "--rung", "gvisor", "--net", "none", "--", "sh", "-c", "echo ready; sleep 1000")
	p.sees("ready")
	p.types("\x03")
	if s := p.status(); s != 130 {
		t.Errorf("status %d", s)
	}
}

// TestStopped: Ctrl-Z gives the terminal back to the shell, and fg goes on.
func TestStopped(t *testing.T) {
	f := newFixture(t)
	cmd := f.command("run", "--rung", "gvisor", "--net", "none", "--", "sh", "-c", `echo rea""dy; read x; echo "got $x"`)
	line := ""
	for _, a := range cmd.Args {
		line += " '" + a + "'"
	}
	p := &person{f: f, cmd: f.command()}
	p.cmd.Path, p.cmd.Args = "/bin/bash", []string{"bash", "--norc", "-ic", line + `; echo ba""ck; fg; echo status $?`}
	p.start()
	p.sees("ready")
	p.types("\x1a")
	p.sees("back")
	f.eventually("an answer", func() bool { // what is typed before the job has the terminal again may be lost
		p.types("word\n")
		return p.saw("got word")
	})
	p.sees("status 0")
}

func TestExec(t *testing.T) {
	f := newFixture(t)
	id := f.start("sleep 1000", "--net", "none")
	cmd := f.command("exec", id, "--", "sh", "-c", `id -u; cat; grep -E 'Cap|Seccomp' /proc/self/status; exit 3`)
	cmd.Stdin = strings.NewReader("through\n")
	out, _ := cmd.Output()
	if cmd.ProcessState.ExitCode() != 3 || !strings.HasPrefix(string(out), fmt.Sprintf("%d\nthrough\n", os.Getuid())) || strings.Contains(string(out), "CapEff:\t0000000000000001") || !strings.Contains(string(out), "Seccomp:\t2") {
		t.Errorf("status %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
	p := f.sit("exec", id, "--", "sh", "-c", `tty; stty size; echo ready; until [ "$(stty size)" = "41 121" ]; do sleep 0.05; done; echo resized; read x; exit 4`)
	p.sees("30 100")
	p.sees("ready")
	if err := pty.Setsize(p.tty, &pty.Winsize{Rows: 41, Cols: 121}); err != nil {
		t.Fatal(err)
	}
	p.sees("resized")
	p.types("\n")
	if s := p.status(); s != 4 {
		t.Errorf("status %d", s)
	}
	if s := f.sit("exec", id, "--", "/nowhere").status(); s != 127 {
		t.Errorf("a program that is not there: status %d", s)
	}
}

// TestRights: nothing around the sentry has a capability, and what the sentry and its file
// server have is about files of the sandbox's own user namespace.
func TestRights(t *testing.T) {
	f := newFixture(t)
	f.start("sleep 1000", "--net", "none")
	files := uint64(1<<unix.CAP_CHOWN | 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH | 1<<unix.CAP_FOWNER | 1<<unix.CAP_FSETID | 1<<unix.CAP_SYS_CHROOT | 1<<unix.CAP_SYS_PTRACE)
	seen := map[string]int{}
	for _, p := range sandbox(t, f.ps()[0].PID) {
		kind := "around"
		if strings.HasPrefix(p.argv, "runsc-") || p.argv == "" {
			kind = "sentry"
		}
		seen[kind]++
		may := uint64(0)
		if kind == "sentry" {
			may = files
		}
		for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
			if have := p.caps(t, set); have&^may != 0 {
				t.Errorf("%s (%q): %s is %x", kind, p.argv, set, have)
			}
		}
		if p.status["NoNewPrivs"] != "1" || p.status["Seccomp"] != "2" {
			t.Errorf("%s (%q): NoNewPrivs %s, Seccomp %s", kind, p.argv, p.status["NoNewPrivs"], p.status["Seccomp"])
		}
	}
	if seen["around"] != 1 || seen["sentry"] < 2 {
		t.Errorf("%v: PID 1 alone should stand around the sentry and its file server", seen)
	}
}

// TestKilled: with the supervisor everything ends.
func TestKilled(t *testing.T) {
	f := newFixture(t)
	f.start("sleep 1000", "--net", "none")
	pid := f.ps()[0].PID
	all := sandbox(t, pid)
	if len(all) < 3 {
		t.Fatalf("%d processes", len(all))
	}
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	f.eventually("the end of every process", func() bool {
		for _, p := range all {
			if p.lives() {
				return false
			}
		}
		return true
	})
	left, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil || strings.Contains(string(left), "rootfs") {
		t.Errorf("%v, %s", err, left)
	}
}

// TestProgram: the journal and status tell which program runs below the agent.
func TestProgram(t *testing.T) {
	f := newFixture(t)
	id := f.start("sleep 1000", "--net", "none")
	b, err := os.ReadFile(program(t))
	if err != nil {
		t.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(b))
	var s struct{ Program struct{ Path, SHA256 string } }
	f.eventually("the program in the status", func() bool {
		out, err := f.command("status", "--json", id).Output()
		if err == nil {
			err = json.Unmarshal(out, &s)
		}
		if err != nil || s.Program.Path != program(t) {
			t.Fatalf("%v: %+v\n%s", err, s, out)
		}
		return s.Program.SHA256 == sum
	})
	f.eventually("the program in the journal", func() bool {
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
		f.policy(text)
		if r := f.on("echo ran", "--net", "none"); r.Status != 125 && r.Status != 126 || r.Stdout != "" {
			t.Errorf("%s: status %d\n%s%s", name, r.Status, r.Stdout, r.Stderr)
		}
	}
}
