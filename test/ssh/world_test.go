package ssh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// world is a user here with a project.
type user struct {
	t             *testing.T
	home, project string
	extra         []string // of the environment
	flags         []string // of a launch
}

func newWorld(t *testing.T) *user {
	t.Helper()
	home, err := os.MkdirTemp(stage.Work, "ssh-")
	if err != nil {
		t.Fatal(err)
	}
	w := &user{t: t, home: home, project: filepath.Join(home, "project")}
	if err := os.Mkdir(w.project, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	w.keep("0s") // who is not about a lost link wants the end
	return w
}

func (w *user) put(name, data string) string {
	w.t.Helper()
	at := filepath.Join(w.project, name)
	if filepath.IsAbs(name) {
		at = name
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, []byte(data), 0o644)); err != nil {
		w.t.Fatal(err)
	}
	return at
}

func (w *user) read(name string) string {
	b, err := os.ReadFile(filepath.Join(w.project, name))
	if err != nil {
		return err.Error()
	}
	return string(b)
}

func (w *user) command(program string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
	w.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = w.project
	cmd.Env = append([]string{"HOME=" + w.home, "PATH=/srv/bin:/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "TERM=xterm", "TMPDIR=/tmp"}, w.extra...)
	return cmd
}

// said is what a program gave.
type said struct {
	status      int
	out, errors string
}

func (w *user) do(program string, args ...string) said {
	w.t.Helper()
	cmd := w.command(program, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	s := said{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	w.t.Logf("%s %q: status %d\n%s%s", filepath.Base(program), args, s.status, s.out, s.errors)
	return s
}

// output is what a program prints, whatever it is.
func (w *user) output(program string, args ...string) []byte {
	out, _ := w.command(program, args...).Output() // some of it may be gone meanwhile
	return out
}

func (w *user) ringfence(args ...string) said {
	w.t.Helper()
	return w.do(stage.Ringfence, args...)
}

// on runs a script on a machine.
func (w *user) on(host, script string) said {
	w.t.Helper()
	return w.ringfence("run", "--rung", "ssh:"+host, "--", "sh", "-c", script)
}

// asThere runs a script on the other machine as its user, without ringfence.
func (w *user) asThere(script string) said {
	w.t.Helper()
	return w.do("/srv/bin/ssh", "box", script)
}

// session is one that runs, and waits for a line.
type session struct {
	*exec.Cmd
	name   string
	stdin  interface{ Close() error }
	out    *lines
	errs   shared
	ended  chan struct{}
	status int
}

// shared is what a program prints while it is read.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(b)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// lines is what a program printed so far.
type lines struct{ at string }

func (l *lines) has(text string) bool {
	b, _ := os.ReadFile(l.at)
	return bytes.Contains(b, []byte(text))
}

// begin starts a script, and returns when it has printed "up".
func (w *user) begin(host, name, script string) *session {
	w.t.Helper()
	s := &session{Cmd: w.command(stage.Ringfence, append(append([]string{"run", "--name", name, "--rung", "ssh:" + host}, w.flags...), "--", "sh", "-c", script)...), name: name, ended: make(chan struct{})}
	f, err := os.CreateTemp(w.home, "out-")
	if err != nil {
		w.t.Fatal(err)
	}
	defer f.Close()
	s.out = &lines{f.Name()}
	s.Stdout, s.Stderr = f, &s.errs
	if s.stdin, err = s.StdinPipe(); err != nil {
		w.t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		s.Wait()
		s.status = s.ProcessState.ExitCode()
		close(s.ended)
	}()
	w.t.Cleanup(func() { s.Process.Kill(); <-s.ended })
	if !wait.For(func() bool { return s.out.has("up\n") || s.over() }) || s.over() {
		w.t.Fatalf("%s did not begin: %s", name, s.errs.String())
	}
	return s
}

func (s *session) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// end waits for it.
func (s *session) end(t *testing.T) int {
	t.Helper()
	wait.Eventually(t, "the session ends", s.over)
	t.Logf("%s ended with %d\n%s", s.name, s.status, s.errs.String())
	return s.status
}

// left is what is on the other machine, beside our program and what is kept of projects.
func (w *user) left() string {
	w.t.Helper()
	return w.asThere("ls -A .cache/ringfence/work; ps -eo args | grep '[r]ingfence-there'").out
}

func (w *user) json(out string, into any) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(out), into); err != nil {
		w.t.Fatal(err)
	}
}

// quiet waits until nothing of a session is left there.
func (w *user) quiet() {
	w.t.Helper()
	wait.Eventually(w.t, "nothing is left there", func() bool {
		return strings.TrimSpace(strings.ReplaceAll(w.left(), "welcome to this machine", "")) == ""
	})
}
