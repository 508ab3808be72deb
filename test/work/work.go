package work

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/world"
)

// Work is what must be possible on every rung, and what must not.
func Work(t *testing.T, begin func(*testing.T) *Fixture) {
	for name, test := range map[string]func(*Fixture){
		"review": review, "ends": ends, "network": network, "offline": offline, "publish": publish, "terminal": terminal,
		"interrupted": interrupted, "stopped": stopped, "exec": beside, "killed": Killed, "note": note,
	} {
		t.Run(name, func(t *testing.T) { test(begin(t)) })
	}
}

// review: status, user, files that wait, what cannot be written.
func review(f *Fixture) {
	t := f.T
	r := f.On(`id -u; echo new > made; echo changed >> ca.pem; ls /sys | wc -l; touch /usr/x /x /etc/x 2>/dev/null && echo written; exit 7`, "--review", "--net", "none")
	if r.Status != 7 || r.Stdout != fmt.Sprintf("%d\n0\n", os.Getuid()) {
		t.Errorf("status %d\n%s\n%s", r.Status, r.Stdout, r.Stderr)
	}
	if _, err := os.Stat(filepath.Join(f.Dir, "made")); err == nil {
		t.Error("a file reached the host before it was applied")
	}
	if !strings.Contains(r.Stderr, "made") {
		t.Errorf("the review does not list the file:\n%s", r.Stderr)
	}
	out, err := f.Cmd("apply", "--yes").CombinedOutput()
	if b, rerr := os.ReadFile(filepath.Join(f.Dir, "made")); err != nil || rerr != nil || string(b) != "new\n" {
		t.Errorf("apply: %v, %v, %q\n%s", err, rerr, b, out)
	}
	out, err = f.Cmd("undo", "--yes").CombinedOutput()
	if _, serr := os.Stat(filepath.Join(f.Dir, "made")); err != nil || serr == nil {
		t.Errorf("undo: %v, %v\n%s", err, serr, out)
	}
}

func ends(f *Fixture) {
	for script, want := range map[string]int{"true": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137, "/nowhere": 127} {
		if r := f.On(script, "--net", "none"); r.Status != want {
			f.T.Errorf("%s: status %d, want %d\n%s", script, r.Status, want, r.Stderr)
		}
	}
	if r := f.Run("--rung", f.Rung, "--net", "none", "--", "/nowhere"); r.Status != 127 {
		f.T.Errorf("a program that is not there: status %d\n%s", r.Status, r.Stderr)
	}
}

// network: an allowed host answers through the gate, another one does not, and no address
// is reached around it.
func network(f *Fixture) {
	r := f.On(connects, "--allow-host", world.Allowed)
	f.reached(r.Stdout, r.Stderr)
}

// Connects is network in a session that is there, to which the host is allowed.
func (f *Fixture) Connects(id string) {
	cmd := f.Cmd("exec", id, "--", "sh", "-c", connects)
	var said strings.Builder
	cmd.Stderr = &said
	out, _ := cmd.Output()
	f.reached(string(out), said.String())
}

const connects = `curl -sS --cacert ca.pem https://allowed.test/ && echo reached
	curl -fsS -m 10 http://other.test/ && echo open
	curl -fsS -m 10 http://` + world.Router4 + `/ && echo open
	curl -fsS -m 10 http://` + world.Host4 + `/ && echo open; true`

func (f *Fixture) reached(out, said string) {
	if !strings.Contains(out, "reached") || strings.Contains(out, "open") {
		f.T.Errorf("%s\n%s", out, said)
	}
	for _, p := range f.Dialled() {
		if s := fmt.Sprint(p); strings.Contains(s, world.Host4+":80") {
			f.T.Errorf("the cable saw %s", s)
		}
	}
}

// offline: without a network the registry door answers from what is kept, and nothing else
// does. Where nothing was ever kept there is no door.
func offline(f *Fixture) {
	const script = `curl -sS -m 10 "${GOPROXY%%,*}/x"
		curl -fsS -m 10 http://` + world.Host4 + `/ && echo open
		curl -fsS -m 10 http://127.0.0.1:80/ && echo open; true`
	const words = "module proxy protocol"
	if r := f.On(script, "--net", "none"); r.Status != 0 || strings.Contains(r.Stdout, words) || strings.Contains(r.Stdout, "open") {
		f.T.Errorf("control: status %d\n%s\n%s", r.Status, r.Stdout, r.Stderr)
	}
	if err := os.MkdirAll(filepath.Join(f.State, "ringfence/registry"), 0o700); err != nil {
		f.T.Fatal(err)
	}
	if r := f.On(script, "--net", "none"); !strings.Contains(r.Stdout, words) || strings.Contains(r.Stdout, "open") {
		f.T.Errorf("status %d\n%s\n%s", r.Status, r.Stdout, r.Stderr)
	}
}

func publish(f *Fixture) {
	f.Start("python3 -m http.server 3000 --bind 127.0.0.1", "--publish", "3000")
	f.Serves()
}

// Serves waits for an answer of a server inside, whose port 3000 is published.
func (f *Fixture) Serves() {
	f.Eventually("an answer of the server inside", func() bool {
		r, err := http.Get("http://127.0.0.1:3000/ca.pem")
		if err != nil {
			return false
		}
		defer r.Body.Close()
		b, _ := io.ReadAll(r.Body)
		return strings.Contains(string(b), "CERTIFICATE")
	})
}

func terminal(f *Fixture) {
	p := f.Sit("run", "--rung", f.Rung, "--net", "none", "--", "sh", "-c", `tty; stty size; trap 'echo size $(stty size)' WINCH; trap 'echo hear""d' INT; echo ready; while :; do read x && echo "got $x"; test "$x" = end && exit 5; done`)
	p.Sees("/dev/pts/")
	p.Sees("30 100")
	p.Sees("ready")
	p.Resize(41, 121)
	p.Types("\n")
	p.Sees("size 41 121")
	p.Types("\x03")
	p.Sees("heard")
	p.Types("end\n")
	p.Sees("got end")
	if s := p.Status(); s != 5 {
		f.T.Errorf("status %d", s)
	}
}

// interrupted: Ctrl-C ends a program that does not mind it.
func interrupted(f *Fixture) {
	p := f.Sit("run", "--rung", f.Rung, "--net", "none", "--", "sh", "-c", "echo ready; sleep 1000")
	p.Sees("ready")
	p.Types("\x03")
	if s := p.Status(); s != 130 {
		f.T.Errorf("status %d", s)
	}
}

// stopped: Ctrl-Z gives the terminal back to the shell, and fg goes on.
func stopped(f *Fixture) {
	cmd := f.Cmd("run", "--rung", f.Rung, "--net", "none", "--", "sh", "-c", `echo rea""dy; read x; echo "got $x"`)
	line := ""
	for _, a := range cmd.Args {
		line += " '" + a + "'"
	}
	shell := f.Cmd()
	shell.Path, shell.Args = "/bin/bash", []string{"bash", "--norc", "-ic", line + `; echo ba""ck; fg; echo status $?`}
	p := f.SitAt(shell)
	p.Sees("ready")
	p.Types("\x1a")
	p.Sees("back")
	f.Eventually("an answer", func() bool { // what is typed before the job has the terminal again may be lost
		p.Types("word\n")
		return p.Saw("got word")
	})
	p.Sees("status 0")
}

// note: what the agent is told is renewed whole while it runs: longer after a grant, and
// shorter when one has ended.
func note(f *Fixture) {
	id := f.Start("sleep 1000", "--review")
	read := func() string {
		out, _ := f.Cmd("exec", id, "--", "cat", "/.ringfence/SANDBOX.md").Output()
		return string(out)
	}
	before := read()
	if len(before) == 0 || !strings.HasSuffix(before, "\n") || strings.Contains(before, "granted.test") {
		f.T.Fatalf("the note: %q", before)
	}
	last := before[strings.LastIndex(strings.TrimSpace(before), "\n"):]
	grant := func(args ...string) {
		if out, err := f.Cmd(append([]string{"grant", id, "--host"}, args...)...).CombinedOutput(); err != nil {
			f.T.Fatalf("%v\n%s", err, out)
		}
	}
	grant("granted.test")
	longer := read()
	if !strings.Contains(longer, "granted.test") || !strings.HasSuffix(longer, last) {
		f.T.Errorf("after a grant it is\n%s", longer)
	}
	grant("passing.test", "--for", "1s")
	f.Eventually("the note as before the second", func() bool { return read() == longer })
}

func beside(f *Fixture) {
	f.Beside(f.Start("sleep 1000", "--net", "none"))
}

// Beside runs commands in a session that is there.
func (f *Fixture) Beside(id string) {
	t := f.T
	cmd := f.Cmd("exec", id, "--", "sh", "-c", `id -u; cat; grep -E 'Cap|Seccomp' /proc/self/status; exit 3`)
	cmd.Stdin = strings.NewReader("through\n")
	out, _ := cmd.Output()
	if cmd.ProcessState.ExitCode() != 3 || !strings.HasPrefix(string(out), fmt.Sprintf("%d\nthrough\n", os.Getuid())) ||
		!strings.Contains(string(out), "CapEff:\t0000000000000000") || !strings.Contains(string(out), "Seccomp:\t2") {
		t.Errorf("status %d\n%s", cmd.ProcessState.ExitCode(), out)
	}
	p := f.Sit("exec", id, "--", "sh", "-c", `tty; stty size; echo ready; until [ "$(stty size)" = "41 121" ]; do sleep 0.05; done; echo resized; read x; exit 4`)
	p.Sees("30 100")
	p.Sees("ready")
	p.Resize(41, 121)
	p.Sees("resized")
	p.Types("\n")
	if s := p.Status(); s != 4 {
		t.Errorf("status %d", s)
	}
	if s := f.Sit("exec", id, "--", "/nowhere").Status(); s != 127 {
		t.Errorf("a program that is not there: status %d", s)
	}
}

// Killed: with the supervisor everything ends, and what waits for review is still there. On
// a rung that keeps it elsewhere it is here once somebody has looked.
func Killed(f *Fixture) {
	t := f.T
	before := map[int]bool{}
	for _, p := range Processes(t) {
		before[p.PID] = true
	}
	id := f.Start("echo new > made; echo ok; exec sleep 1000", "--review", "--net", "none")
	f.Said(id, "ok")
	f.Cmd("diff", id).Run()
	var all []Process
	for _, p := range Processes(t) {
		if !before[p.PID] {
			all = append(all, p)
		}
	}
	if err := kill(f.Supervisor(id)); err != nil {
		t.Fatal(err)
	}
	f.Eventually("the end of every process", func() bool {
		for _, p := range all {
			if p.Lives() {
				return false
			}
		}
		return true
	})
	out, err := f.Cmd("diff", id).CombinedOutput()
	if !strings.Contains(string(out), "made") {
		t.Errorf("what waits is lost: %v\n%s", err, out)
	}
}
