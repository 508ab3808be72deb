package sessions

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
)

// desktop is a person's terminal with a shell of the host in it, from which ringfence is
// started. Its prompt is P1> first and has the next number after each command.
type desktop interface {
	types(text string)
	pastes(text string) // marked, where the terminal is asked to
	screen() string
}

var shellLine = []string{"bash", "--norc", "--noprofile", "-i"}

func (w *world) shellEnv() []string { return append(w.env(), `PS1=P\#> `, "HISTFILE=/dev/null") }

// scripted is a terminal that the test plays: what it sends goes out in one order, as
// fast as it is taken, and it answers when it is asked for its status.
type scripted struct {
	pty  *os.File
	work chan string

	given, sent atomic.Int64 // texts that it was to send, and those that are with the kernel

	mu     sync.Mutex
	seen   bytes.Buffer
	answer int                      // how often it has answered
	late   func(screen string) bool // it answers, in order, once this holds
}

func (w *world) scripted() desktop { return w.terminal(nil) }

func (w *world) terminal(late func(screen string) bool) *scripted {
	cmd := exec.Command(shellLine[0], shellLine[1:]...)
	cmd.Env, cmd.Dir = w.shellEnv(), w.project
	master, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		w.t.Fatal(err)
	}
	fd, err := unix.Dup(int(master.Fd()))
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	master.Close()
	s := &scripted{pty: os.NewFile(uintptr(fd), "terminal"), work: make(chan string, 1024), late: late}
	watched := make(chan struct{})
	w.t.Cleanup(func() {
		s.pty.Close()
		cmd.Process.Kill()
		cmd.Wait()
		<-watched // it answers no more
		close(s.work)
	})
	go func() {
		for text := range s.work {
			s.pty.Write([]byte(text))
			s.sent.Add(1)
		}
	}()
	go func() {
		defer close(watched)
		s.watch()
	}()
	return s
}

func (s *scripted) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := s.pty.Read(buf)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.seen.Write(buf[:n])
		asked := bytes.Count(s.seen.Bytes(), []byte(askStatus))
		if s.late != nil && !s.late(s.seen.String()) {
			asked = 0
		}
		for ; s.answer < asked; s.answer++ {
			s.types("\x1b[0n")
		}
		s.mu.Unlock()
	}
}

// askStatus is what a terminal answers with "all is well".
const askStatus = "\x1b[5n"

func (s *scripted) types(text string) {
	s.given.Add(1)
	s.work <- text
}

// typed holds when all that was to be sent is with the kernel.
func (s *scripted) typed() bool { return s.sent.Load() == s.given.Load() }

func (s *scripted) pastes(text string) {
	shown := s.screen()
	if strings.LastIndex(shown, "\x1b[?2004h") > strings.LastIndex(shown, "\x1b[?2004l") {
		text = "\x1b[200~" + text + "\x1b[201~"
	}
	s.types(text)
}

func (s *scripted) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// tmux is a real terminal.
type tmux struct {
	w      *world
	socket string
}

func (w *world) tmux() desktop {
	x := &tmux{w: w, socket: filepath.Join(w.home, "tmux")}
	x.do("-f", "/dev/null", "new-session", "-d", "-x", "100", "-y", "30", `exec env 'PS1=P\#> ' `+strings.Join(shellLine, " ")) // the shell between takes PS1 away
	w.t.Cleanup(func() { x.do("kill-server") })
	return x
}

func (x *tmux) do(args ...string) string {
	cmd := exec.Command("tmux", append([]string{"-S", x.socket}, args...)...)
	cmd.Env, cmd.Dir = x.w.shellEnv(), x.w.project
	out, err := cmd.CombinedOutput()
	if err != nil {
		x.w.t.Errorf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

func (x *tmux) types(text string) { x.do("send-keys", "-l", text) }

func (x *tmux) pastes(text string) {
	file := filepath.Join(x.w.home, "clipboard")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		x.w.t.Error(err)
	}
	x.do("load-buffer", file)
	x.do("paste-buffer", "-p", "-r")
}

func (x *tmux) screen() string { return x.do("capture-pane", "-p", "-S", "-") }

// The agent of these tests asks for marks, takes the beginning of a paste, and then does
// something else.
const (
	pasteAgent  = `stty raw -echo; printf "\033[?2004h"; echo w""aits; head -c 200 >/dev/null; echo t""ook; `
	unmarked    = `stty raw -echo; echo w""aits; head -c 200 >/dev/null; `
	readsNoMore = `exec sleep 1000`
)

// cut is a way in which a paste is cut off.
type cut struct {
	name  string
	flags string // of run
	agent string
	then  func(w *world, d desktop) // when the agent has taken the beginning
}

var cuts = []cut{
	{"the agent exits", "", pasteAgent + "exit 3", nil},
	{"the agent exits, unmarked", "", unmarked + "exit 3", nil},
	{"the agent is killed", "", pasteAgent + "kill -9 $$", nil},
	{"the agent stops", "", pasteAgent + "kill -TSTP $$; exit 3", nil},
	{"stop", "", pasteAgent + readsNoMore, func(w *world, _ desktop) { w.must("stop", "--time", "0", w.pasted()) }},
	{"kept, the agent exits", "--keep", pasteAgent + "exit 3", nil},
	{"kept, stop", "--keep", pasteAgent + readsNoMore, func(w *world, _ desktop) { w.must("stop", "--time", "0", w.pasted()) }},
	{"kept, the detach key", "--keep", pasteAgent + readsNoMore, func(_ *world, d desktop) { d.types("\x1dd") }},
	{"kept, detach", "--keep", pasteAgent + readsNoMore, func(w *world, _ desktop) { w.must("detach", w.pasted()) }},
	{"kept, taken over", "--keep", pasteAgent + readsNoMore, func(w *world, _ desktop) { w.sit("attach", w.pasted()) }},
	{"kept, the supervisor is killed", "--keep", pasteAgent + readsNoMore, func(w *world, _ desktop) {
		if err := unix.Kill(w.ps()[0].PID, unix.SIGKILL); err != nil {
			w.t.Error(err)
		}
	}},
}

// TestPaste: however a session lets go of the terminal in the middle of a paste, no line
// of it is run by the shell that ringfence was started from. Each user plays each way to
// cut it off, and they share the terminals and sizes.
func TestPaste(t *testing.T) {
	for i, c := range cuts {
		for j, size := range []int{1 << 10, 100 << 10} {
			if stage.Mine(i + j) {
				t.Run(fmt.Sprintf("scripted/%s/%d", c.name, size), func(t *testing.T) { c.try(t, (*world).scripted, size) })
			}
		}
		size := []int{1 << 10, 5 << 10, 20 << 10, 100 << 10}[i%4]
		if stage.Mine(i) {
			t.Run(fmt.Sprintf("tmux/%s/%d", c.name, size), func(t *testing.T) { c.try(t, (*world).tmux, size) })
		}
	}
}

func (c cut) try(t *testing.T, open func(*world) desktop, size int) {
	w := newWorld(t)
	d := open(w)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("on the screen: %q", d.screen())
		}
	})
	canary := filepath.Join(w.home, "canary")
	command := fmt.Sprintf("%s run --net none --yes --name %s %s -- sh -c '%s'\r", stage.Ringfence, w.pasted(), c.flags, c.agent)
	w.paste(d, canary, command, size, func() {
		if c.then != nil {
			wait.Eventually(w.t, "the beginning of the paste inside", func() bool { return strings.Contains(d.screen(), "took") })
			c.then(w, d)
		}
	})
	if _, err := os.Stat(canary); err == nil {
		t.Error("a line of the paste ran on the host")
	}
	if strings.Contains(d.screen(), "Stopped") { // then it can answer nobody
		d.types("fg\r")
		wait.Eventually(w.t, "the end of the session", func() bool { return strings.Contains(d.screen(), "P4>") })
	}
}

// pasted is the name of the session that is pasted into.
func (w *world) pasted() string { return filepath.Base(w.home) }

// paste runs a command, pastes into it, and returns when the shell has answered again.
func (w *world) paste(d desktop, canary, command string, size int, then func()) {
	w.t.Helper()
	wait.Eventually(w.t, "a prompt", func() bool { return strings.Contains(d.screen(), "P1>") })
	d.types(command)
	wait.Eventually(w.t, "the agent", func() bool { return strings.Contains(d.screen(), "waits") })
	line := "touch " + canary + "\r"
	text := strings.Repeat(line, size/len(line)+1)
	d.pastes(text)
	then()
	wait.Eventually(w.t, "the prompt", func() bool { return strings.Contains(d.screen(), "P2>") })
	d.types("\x15echo the e''nd\r")
	wait.Eventually(w.t, "an answer of the shell", func() bool { return strings.Contains(d.screen(), "the end") })
}

// TestPasteSpills is the control: without ringfence the rest of a paste is run, and the
// canary of these tests is seen.
func TestPasteSpills(t *testing.T) {
	for name, open := range map[string]func(*world) desktop{"scripted": (*world).scripted, "tmux": (*world).tmux} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			canary := filepath.Join(w.home, "canary")
			w.paste(open(w), canary, "sh -c '"+unmarked+"stty sane'\r", 5<<10, func() {})
			if _, err := os.Stat(canary); err != nil {
				t.Errorf("no line of the paste ran: %v", err)
			}
		})
	}
}
