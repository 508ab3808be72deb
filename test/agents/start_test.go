package agents

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/agents/model"
	"ringfence.dev/ringfence/test/screen"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// start is how an agent begins at a terminal.
type start struct {
	args  []string
	ready []string // its prompt stands
	never []string // screens that would come before it

	stranger string // is on the first of them
}

// What is typed at the prompt, and what the model answers.
const (
	typed  = "hello there"
	answer = "that-is-all-from-me"
)

// TestStart starts each agent as a person does, at a terminal, with a HOME full of
// credentials on a host that is logged in. Nothing is asked: its prompt is the first
// thing that stands, and what is typed there is answered. Then the terminal is closed.
func TestStart(t *testing.T) {
	eachAgent(t, 1, func(t *testing.T, a agent) {
		p := newPerson(t, a)
		for path, content := range a.login {
			p.put(t, filepath.Join(p.home, path), content)
		}
		dir := p.project(t, "one")
		git(t, "init", "--quiet", dir) // where some ask whether to trust it
		m := model.New(typed, say(answer))
		p.hire(t, m)
		ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
		defer cancel()
		cmd := p.command(ctx, dir, stage.Ringfence, append([]string{a.name, "--"}, a.start.args...)...)
		master := openTerminal(t, cmd)
		defer master.Close()
		s := watch(master)
		s.until(ctx, t, a.start.ready...)
		s.press(ctx, t, typed, 10*time.Second, typed)
		s.press(ctx, t, "\r", 2*time.Second, answer)
		for _, first := range a.start.never {
			if s.Shows(first) {
				t.Errorf("there was a screen that says %q", first)
			}
		}
		if s.Holds(p.canary) || s.Holds(p.key) {
			t.Error("the screen shows a secret")
		}
		p.expectBrokered(t, m)
		// A closed terminal ends it: Wait returns or the context kills it.
		master.Close()
		cmd.Wait()
		if ctx.Err() != nil {
			t.Error("it goes on without its terminal")
		}
		p.expectQuiet(t, dir, s)
	})
}

// expectQuiet: an agent that starts wants no host about which a person would be asked, or
// of which the end would tell.
func (p *person) expectQuiet(t *testing.T, dir string, s *desk) {
	t.Helper()
	if s.Holds("a host is wanted") || s.Shows("is wanted by") {
		t.Error("there was a question")
	}
	if r := p.ringfence(t, dir, "log", "--denied"); r.status != 0 || strings.Contains(r.stdout, "no rule allows") {
		t.Errorf("status %d, refused:\n%s%s", r.status, r.stdout, r.stderr)
	}
}

// openTerminal starts a command at a terminal of its own.
func openTerminal(t *testing.T, cmd *exec.Cmd) *os.File {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid, cmd.SysProcAttr.Setctty = true, true
	blocking, err := pty.StartWithAttrs(cmd, &pty.Winsize{Rows: 40, Cols: 120}, cmd.SysProcAttr)
	if err != nil {
		t.Fatal(err)
	}
	defer blocking.Close()
	// To close a file that blocks would wait for the one who reads it.
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "terminal")
}

// desk is a terminal and what it has shown.
type desk struct {
	screen.Screen
	terminal *os.File
	more     chan struct{} // something came; closed at the end
}

// watch reads what the other side writes, to its end, so that it never has to wait.
func watch(terminal *os.File) *desk {
	s := &desk{terminal: terminal, more: make(chan struct{}, 1)}
	go func() {
		defer close(s.more)
		buf := make([]byte, 1<<16)
		for {
			n, err := terminal.Read(buf)
			s.Write(buf[:n])
			s.reply(buf[:n])
			select {
			case s.more <- struct{}{}:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	return s
}

// reply says what a terminal says of itself when it is asked: where the cursor is and
// what it can do. Some agents wait for that.
func (s *desk) reply(asked []byte) {
	for question, reply := range map[string]string{"\x1b[6n": "\x1b[1;1R", "\x1b[c": "\x1b[?62;22c"} {
		if bytes.Contains(asked, []byte(question)) {
			s.terminal.WriteString(reply)
		}
	}
}

// types presses keys.
func (s *desk) types(t *testing.T, text string) {
	t.Helper()
	if _, err := s.terminal.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// until waits until all of want was shown.
func (s *desk) until(ctx context.Context, t *testing.T, want ...string) {
	t.Helper()
	for {
		if !slices.ContainsFunc(want, func(w string) bool { return !s.Shows(w) }) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the screen does not show %q:\n%s", want, s.Text())
		case _, ok := <-s.more:
			if !ok && slices.ContainsFunc(want, func(w string) bool { return !s.Shows(w) }) {
				t.Fatalf("it ended and did not show %q:\n%s", want, s.Text())
			}
		}
	}
}

// press types keys until want is shown, again each time that every has passed. An agent
// that is still busy with its start takes the first time for nothing, or for another key.
func (s *desk) press(ctx context.Context, t *testing.T, keys string, every time.Duration, want string) {
	t.Helper()
	again := time.NewTicker(every)
	defer again.Stop()
	for s.types(t, keys); !s.Shows(want); {
		select {
		case <-ctx.Done():
			t.Fatalf("the screen does not show %q:\n%s", want, s.Text())
		case <-again.C:
			s.types(t, keys)
		case _, ok := <-s.more:
			if !ok && !s.Shows(want) {
				t.Fatalf("it ended and did not show %q:\n%s", want, s.Text())
			}
		}
	}
}

// TestStranger is the control to TestStart: without ringfence and in a HOME of a
// stranger the first screen is one of those that must never come.
func TestStranger(t *testing.T) {
	eachAgent(t, 1, func(t *testing.T, a agent) {
		if a.start.stranger == "" {
			return // it asks nobody anything
		}
		p := &person{agent: a, agents: findAgents(t), home: filepath.Join(tempDir(t), "home")}
		dir := p.project(t, "one")
		git(t, "init", "--quiet", dir)
		p.demote(t)
		ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
		defer cancel()
		cmd := p.command(ctx, dir, filepath.Join(p.agents, ".bin", a.name), a.start.args...)
		master := openTerminal(t, cmd)
		defer master.Close()
		s := watch(master)
		s.until(ctx, t, a.start.stranger)
		if !slices.Contains(a.start.never, a.start.stranger) {
			t.Errorf("TestStart does not look for %q", a.start.stranger)
		}
		master.Close()
		cancel()
		cmd.Wait()
	})
}

// TestLoggedOut: a host that has no credential says so in one sentence, and what to
// run; what the model's other customers have makes no difference.
func TestLoggedOut(t *testing.T) {
	eachAgent(t, 0, func(t *testing.T, a agent) {
		p := newPerson(t, a)
		for path := range a.login {
			if err := os.Remove(filepath.Join(p.home, path)); err != nil {
				t.Fatal(err)
			}
		}
		m := model.New(typed, say(answer))
		p.hire(t, m)
		r := p.ringfence(t, p.project(t, "one"), slices.Concat([]string{a.name, "--"}, p.arguments(a.args, a.begin), []string{typed})...)
		var said []string
		for line := range strings.Lines(r.stderr) {
			if strings.HasPrefix(line, "ringfence: ") && strings.Contains(line, " has no credential for ") {
				said = append(said, line)
			}
		}
		if len(said) != 1 || !strings.Contains(said[0], " on the host, or: ringfence secret set ") {
			t.Errorf("stderr does not say in one sentence what to run:\n%s", r.stderr)
		}
		if r.status == 0 || len(m.Requests()) > 0 || strings.Contains(r.stdout, answer) {
			t.Errorf("status %d, %d requests, stdout %q", r.status, len(m.Requests()), r.stdout)
		}
	})
}
