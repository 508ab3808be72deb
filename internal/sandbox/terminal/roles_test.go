package terminal

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// The test binary plays three parts beside its own: the supervisor, with a
// Relay as in the product; the first process inside, which holds the inner pty
// and tells the supervisor when the agent stops; and an agent that prints
// what happens to it.
//
// The first process is the leader of the inner session and the agent a process
// group below it, as under a shell. An agent that led the session itself would
// be in an orphaned group, in which the kernel ignores Ctrl-Z.
const (
	roleVar   = "TERMINAL_TEST_ROLE"
	reportVar = "TERMINAL_TEST_REPORT"
	// patienceVar is how long the relay waits for a terminal that does not answer.
	patienceVar = "TERMINAL_TEST_PATIENCE"
)

func TestMain(m *testing.M) {
	switch os.Getenv(roleVar) {
	case "supervisor":
		os.Exit(supervise(os.Args[1:]))
	case "first":
		os.Exit(first(os.Args[1:]))
	case "agent":
		os.Exit(agent())
	}
	os.Exit(m.Run())
}

// supervise runs argv on an inner pty and relays, as the product does.
func supervise(argv []string) int {
	master, slave, err := pty.Open()
	must(err)
	fromInside, toOutside, err := os.Pipe()
	must(err)
	fromOutside, toInside, err := os.Pipe()
	must(err)

	conf := Config{In: os.Stdin, Out: os.Stdout, Master: master, OnSignal: func(s os.Signal) {
		_, _ = toInside.Write([]byte{byte(s.(syscall.Signal))})
	}}
	if !IsTerminal(os.Stdin) {
		conf.In = nil
	}
	relay, err := New(conf)
	must(err)
	relay.patience = wait.Patience // a busy machine is not what is tested
	if text := os.Getenv(patienceVar); text != "" {
		relay.patience, err = time.ParseDuration(text)
		must(err)
	}

	inside := exec.Command("/proc/self/exe", argv...)
	inside.Env = append(os.Environ(), roleVar+"=first")
	inside.Stdin, inside.Stdout, inside.Stderr = slave, slave, slave
	inside.ExtraFiles = []*os.File{toOutside, fromOutside}
	inside.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	must(inside.Start())
	for _, f := range []*os.File{slave, toOutside, fromOutside} {
		must(f.Close())
	}
	go func() {
		var b [1]byte
		for {
			if _, err := fromInside.Read(b[:]); err != nil {
				return
			}
			relay.Suspend()
		}
	}()
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // see ErrHangup
	ran := relay.Run(context.Background())
	if ran != nil {
		_ = toInside.Close() // which ends the tree
	}
	waited := inside.Wait()
	report(fmt.Sprintf("run: %v\n%s", ran, memory()))
	var exit *exec.ExitError
	if errors.As(waited, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// first starts the agent in the foreground of the inner pty and watches it.
func first(argv []string) int {
	toOutside, fromOutside := os.NewFile(3, "out"), os.NewFile(4, "in")
	agent := exec.Command(argv[0], argv[1:]...)
	agent.Stdin, agent.Stdout, agent.Stderr = os.Stdin, os.Stdout, os.Stderr
	agent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Foreground: true, Ctty: 0, Pdeathsig: syscall.SIGKILL}
	must(os.Unsetenv(roleVar))
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // not Ignore, which the agent would inherit
	must(agent.Start())
	group := -agent.Process.Pid
	go func() {
		var b [1]byte
		for {
			if _, err := fromOutside.Read(b[:]); err != nil {
				_ = unix.Kill(group, unix.SIGKILL)
				return
			}
			_ = unix.Kill(group, syscall.Signal(b[0]))
		}
	}()
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(-group, &status, unix.WUNTRACED, nil)
		switch {
		case err == unix.EINTR:
		case status.Stopped():
			_, _ = toOutside.Write([]byte("s"))
		case status.Signaled():
			return 128 + int(status.Signal())
		default:
			return status.ExitStatus()
		}
	}
}

// agent prints what it is told: its size now, when it changes and when it goes
// on after a stop, and the lines it reads. Unlike a shell with traps it forgets
// no signal, whenever it comes.
func agent() int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, unix.SIGWINCH, unix.SIGCONT)
	lines := make(chan string)
	go func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			lines <- in.Text()
		}
		close(lines)
	}()
	for word := "ready"; ; {
		ws, err := Size(os.Stdin)
		must(err)
		fmt.Printf("%s %d %d %d %d\n", word, ws.Row, ws.Col, ws.Xpixel, ws.Ypixel)
		select {
		case s := <-signals:
			word = s.String()
		case line, ok := <-lines:
			if !ok {
				return 7
			}
			word = "read " + line
		}
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func report(text string) {
	if path := os.Getenv(reportVar); path != "" {
		must(os.WriteFile(path, []byte(text), 0o600))
	}
}

func memory() string {
	status, err := os.ReadFile("/proc/self/status")
	must(err)
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "VmHWM:") {
			return line
		}
	}
	return ""
}

// screen is the user's terminal: the outer pty and all that was written to it.
type screen struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	cmd    *exec.Cmd
	report string

	mu     sync.Mutex
	more   *sync.Cond
	output []byte
	seen   int // how far expect has read
	total  int
	closed bool
	answer func(s *screen, chunk []byte) // plays the terminal's answers
}

// newScreen opens a terminal of 24 by 80 cells and reads what is written to it.
func newScreen(t *testing.T) *screen {
	t.Helper()
	master, slave := openPty(t)
	s := &screen{t: t, master: master, slave: slave, report: t.TempDir() + "/report"}
	s.more = sync.NewCond(&s.mu)
	s.resize(24, 80)
	t.Cleanup(func() {
		_ = s.master.Close()
		_ = s.slave.Close()
	})
	return s
}

// openPty opens a pty whose master can be closed and timed out while it is read.
func openPty(t *testing.T) (master, slave *os.File) {
	t.Helper()
	m, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	fd, err := unix.FcntlInt(m.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), m.Name()), slave
}

// control calls do with the descriptor of f; File.Fd would make it blocking.
func control(t *testing.T, f *os.File, do func(fd int) error) {
	t.Helper()
	conn, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil || failed != nil {
		t.Fatal(err, failed)
	}
}

func (s *screen) watch() {
	go func() {
		buf := make([]byte, 32<<10)
		for {
			n, err := s.master.Read(buf)
			s.mu.Lock()
			s.total += n
			if s.total < 1<<20 {
				s.output = append(s.output, buf[:n]...)
			}
			s.closed = err != nil
			answer := s.answer
			if answer == nil && n > 0 {
				answer = answerStatus
			}
			s.more.Broadcast()
			s.mu.Unlock()
			if answer != nil {
				answer(s, buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
}

// answerStatus is all that a terminal of these tests answers where a test does not say
// more.
func answerStatus(s *screen, chunk []byte) {
	if bytes.HasSuffix(chunk, []byte("\x1b[5n")) {
		go func() { _, _ = s.master.Write([]byte(statusOK)) }() // it may be full of keys
	}
}

func (s *screen) resize(rows, cols uint16) {
	s.t.Helper()
	control(s.t, s.master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &Winsize{Row: rows, Col: cols, Xpixel: cols * 8, Ypixel: rows * 16})
	})
}

// start runs argv as the leader of a session on this terminal.
func (s *screen) start(env []string, argv ...string) {
	s.t.Helper()
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.cmd.Env = append(os.Environ(), append(env, "PS1=P> ", "TERM=xterm", reportVar+"="+s.report)...)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.slave, s.slave, s.slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		endSession(s.cmd.Process.Pid)
	})
	s.watch()
}

// endSession ends what is left of a session whose leader is gone: a job that was stopped
// wakes up then, and would write its report while the directory is removed.
func endSession(id int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		_, rest, ok := strings.Cut(string(text), ") ")
		f := strings.Fields(rest)
		if err != nil || !ok || len(f) < 4 || f[3] != strconv.Itoa(id) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			continue
		}
		if unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil {
			_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
		}
		unix.Close(fd)
	}
}

// run starts a supervisor with argv as its agent.
func (s *screen) run(argv ...string) {
	s.t.Helper()
	s.start([]string{roleVar + "=supervisor"}, append([]string{self(s.t)}, argv...)...)
}

// talker is the command line of an agent that prints what happens to it.
func talker(t *testing.T) []string { return []string{"env", roleVar + "=agent", self(t)} }

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (s *screen) send(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.master, text); err != nil {
		s.t.Fatal(err)
	}
}

// expect waits for text after what was expected last, and returns what came before it.
func (s *screen) expect(text string) string {
	s.t.Helper()
	defer s.giveUp()()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if i := bytes.Index(s.output[s.seen:], []byte(text)); i >= 0 {
			before := string(s.output[s.seen : s.seen+i])
			s.seen += i + len(text)
			return before
		}
		if s.closed {
			s.t.Fatalf("no %q in %q, after %q", text, s.output[s.seen:], s.output[:s.seen])
		}
		s.more.Wait()
	}
}

// arrived waits until so many bytes have been written to the terminal.
func (s *screen) arrived(bytes int) {
	s.t.Helper()
	defer s.giveUp()()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.total < bytes {
		if s.closed {
			s.t.Fatalf("%d of %d bytes arrived", s.total, bytes)
		}
		s.more.Wait()
	}
}

// giveUp ends waiting after wait.Patience, unless stop is called before.
func (s *screen) giveUp() (stop func() bool) {
	return time.AfterFunc(wait.Patience, func() {
		s.mu.Lock()
		s.closed = true
		s.more.Broadcast()
		s.mu.Unlock()
	}).Stop
}

// wait waits for the session's leader and returns its status and its report.
func (s *screen) wait() (status int, report string) {
	s.t.Helper()
	kill := time.AfterFunc(wait.Patience, func() { _ = s.cmd.Process.Kill() })
	defer kill.Stop()
	_ = s.cmd.Wait()
	text, _ := os.ReadFile(s.report)
	return s.cmd.ProcessState.ExitCode(), string(text)
}

// foreground names the process group in the foreground of the terminal, as a
// process for kill.
func (s *screen) foreground() string {
	s.t.Helper()
	var group int
	control(s.t, s.master, func(fd int) (err error) {
		group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	return fmt.Sprint(group)
}
