package terminal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// TestBytes: every byte that is typed reaches an agent that asked for it raw.
func TestBytes(t *testing.T) {
	s := newScreen(t)
	s.run("sh", "-c", `stty raw -echo; printf ready; head -c 256 | od -An -v -tu1 | tr -s ' \n' ' '; printf end`)
	s.expect("ready")
	var all []byte
	want := ""
	for i := range 256 {
		all = append(all, byte(i))
		want += fmt.Sprintf(" %d", i)
	}
	s.send(string(all))
	if got := strings.TrimSpace(s.expect("end")); got != strings.TrimSpace(want) {
		t.Errorf("got %s", got)
	}
	if status, report := s.wait(); status != 0 || !strings.HasPrefix(report, "run: <nil>") {
		t.Errorf("status %d, %s", status, report)
	}
}

// TestFiltered: the relay's output is that of the filter. TestRemoved and its
// kin have the details.
func TestFiltered(t *testing.T) {
	s := newScreen(t)
	s.run("printf", `a\033]52;c;QQ==\007b\033[31mc\005d`)
	s.expect("ab\x1b[31mcd")
	s.expect("\x1b[m") // and given back as it was
	s.wait()
}

func TestResize(t *testing.T) {
	s := newScreen(t)
	s.run(talker(t)...)
	s.expect("ready 24 80 640 384\r\n")
	s.resize(50, 132)
	s.expect("window changed 50 132 1056 800\r\n")
}

// TestInterrupt: the first and the second Ctrl-C reach the agent, and its status
// passes through.
func TestInterrupt(t *testing.T) {
	s := newScreen(t)
	s.run("bash", "-c", `n=0; trap 'n=$((n+1)); [ $n = 2 ] && exit 42' INT; while :; do echo got $n; sleep 0.05; done`)
	s.expect("got 0")
	s.send("\x03")
	s.expect("got 1") // printed after the trap: bash forgets a signal that comes within
	s.send("\x03")
	if status, _ := s.wait(); status != 42 {
		t.Errorf("status %d", status)
	}
}

// TestInterruptKills: without a trap the agent dies of it.
func TestInterruptKills(t *testing.T) {
	s := newScreen(t)
	s.run("sh", "-c", "echo ready; exec sleep 1000")
	s.expect("ready")
	s.send("\x03")
	if status, _ := s.wait(); status != 130 {
		t.Errorf("status %d", status)
	}
}

// TestRestored: modes of the terminal are the same after a run as before.
func TestRestored(t *testing.T) {
	s := newScreen(t)
	before := termios(t, s.slave)
	s.run("sh", "-c", "echo ready; read x")
	s.expect("ready")
	if during := termios(t, s.slave); during.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
		t.Errorf("not raw: %x", during.Lflag)
	}
	s.send("\r")
	s.wait()
	if after := termios(t, s.slave); *after != *before {
		t.Errorf("after %+v\nbefore %+v", after, before)
	}
}

func termios(t *testing.T, f *os.File) *unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestHangup: when the terminal is closed Run says so, and the caller can end the tree.
func TestHangup(t *testing.T) {
	s := newScreen(t)
	s.run("sh", "-c", "trap '' HUP; echo ready $$; while :; do sleep 60; done")
	s.expect("ready ")
	pid, err := strconv.Atoi(strings.TrimSpace(s.expect("\n")))
	if err != nil {
		t.Fatal(err)
	}
	agent, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(agent)
	_ = s.slave.Close()
	_ = s.master.Close()
	if _, report := s.wait(); !strings.HasPrefix(report, "run: "+ErrHangup.Error()) {
		t.Errorf("report %q", report)
	}
	if !ready(agent, unix.POLLIN, time.Now().Add(wait.Patience)) {
		t.Errorf("process %d lives", pid)
	}
}

// TestFlood: much output in little memory.
func TestFlood(t *testing.T) {
	s := newScreen(t)
	s.run("sh", "-c", "stty -opost; yes | head -c 32M")
	status, report := s.wait()
	var kib int
	if _, err := fmt.Sscanf(report, "run: <nil>\nVmHWM: %d kB", &kib); err != nil || status != 0 {
		t.Fatalf("status %d, report %q: %v", status, report, err)
	}
	s.arrived(32 << 20)
	if kib > 40<<10 {
		t.Errorf("the supervisor took %d KiB", kib)
	}
}

// inner is a relay in this process, between a screen and an inner pty.
type inner struct {
	*Relay
	slave  *os.File // the agent's side
	ended  chan error
	cancel context.CancelFunc
}

func relayTo(t *testing.T, s *screen, in *os.File) *inner {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	r, err := New(Config{In: in, Out: s.slave, Master: master})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	i := &inner{Relay: r, slave: slave, ended: make(chan error, 1), cancel: cancel}
	over := make(chan struct{})
	go func() {
		defer close(over)
		i.ended <- r.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-over
		_ = slave.Close()
		_ = master.Close()
	})
	return i
}

// TestBackpressure: a terminal that does not read stops the agent, and the relay
// can still be ended.
func TestBackpressure(t *testing.T) {
	s := newScreen(t) // nobody reads it
	i := relayTo(t, s, s.slave)
	if total := fill(t, i.slave); total > 1<<20 {
		t.Errorf("%d bytes went somewhere", total)
	}
	i.cancel()
	if err := <-i.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
}

// fill writes until nobody takes more, and returns how much was taken. It gives
// up where there seems to be no end.
func fill(t *testing.T, f *os.File) (total int) {
	t.Helper()
	chunk := bytes.Repeat([]byte("x"), 4096)
	for total < 16<<20 {
		if err := f.SetWriteDeadline(time.Now().Add(time.Second)); err != nil {
			t.Fatal(err)
		}
		n, err := f.Write(chunk)
		total += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return total
}

// TestUnreadKeys: an agent that does not read its input does not hold up its output.
func TestUnreadKeys(t *testing.T) {
	s := newScreen(t)
	i := relayTo(t, s, s.slave)
	s.watch()
	if err := setTermios(int(i.slave.Fd()), rawMode(*termios(t, i.slave))); err != nil {
		t.Fatal(err)
	}
	_, _ = i.slave.WriteString("raw")
	s.expect("raw")
	if total := fill(t, s.master); total > 1<<20 {
		t.Errorf("%d keys went somewhere", total)
	}
	_, _ = i.slave.WriteString("still here")
	s.expect("still here")
}

// TestDrain: what the agent printed last arrives, though the pty is closed by then.
func TestDrain(t *testing.T) {
	s := newScreen(t)
	i := relayTo(t, s, s.slave)
	_, _ = i.slave.WriteString(strings.Repeat("x", 3000) + "last words")
	_ = i.slave.Close()
	s.watch()
	s.expect("last words")
	if err := <-i.ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}

// TestNoAnswers: without input of its own the relay lets nothing be asked, and
// leaves the modes of the terminal alone.
func TestNoAnswers(t *testing.T) {
	s := newScreen(t)
	before := termios(t, s.slave)
	i := relayTo(t, s, nil)
	s.watch()
	_, _ = i.slave.WriteString("a\x1b[c\x1b[?1000hb")
	s.expect("ab")
	if *termios(t, s.slave) != *before {
		t.Error("modes changed")
	}
	_ = i.slave.Close()
	if err := <-i.ended; err != nil {
		t.Errorf("Run = %v", err)
	}
}

// TestForeignTerminal: a terminal that cannot be opened again works too.
func TestForeignTerminal(t *testing.T) {
	s := newScreen(t)
	if err := s.slave.Chmod(0); err != nil {
		t.Fatal(err)
	}
	if _, own := nonblocking(s.slave, unix.O_RDONLY); own && os.Getuid() != 0 {
		t.Error("opened without permission")
	}
	i := relayTo(t, s, s.slave)
	s.watch()
	_, _ = i.slave.WriteString("hello")
	s.expect("hello")
	s.send("x")
	s.expect("x") // the echo of the inner pty
	i.cancel()
	if err := <-i.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v", err)
	}
}

// TestPanic: the terminal is given back when our own code fails.
func TestPanic(t *testing.T) {
	s := newScreen(t)
	before := termios(t, s.slave)
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer slave.Close()
	r, err := New(Config{In: s.slave, Out: s.slave, Master: master, OnSignal: func(os.Signal) { panic("told") }})
	if err != nil {
		t.Fatal(err)
	}
	r.bell.ring(stopAsked)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_ = r.Run(t.Context())
	}()
	if after := termios(t, s.slave); *after != *before {
		t.Errorf("after %+v\nbefore %+v", after, before)
	}
}

func TestNotATerminal(t *testing.T) {
	s := newScreen(t)
	pipe, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.Close()
	defer w.Close()
	if IsTerminal(pipe) || !IsTerminal(s.slave) {
		t.Error("IsTerminal is wrong")
	}
	if _, err := Size(pipe); !errors.Is(err, unix.ENOTTY) {
		t.Errorf("Size = %v", err)
	}
	for _, conf := range []Config{{In: pipe, Out: s.slave, Master: s.master}, {In: s.slave, Out: w, Master: s.master}} {
		if _, err := New(conf); err == nil || !strings.Contains(err.Error(), "not a terminal") {
			t.Errorf("New = %v", err)
		}
	}
}

// slowTerminal answers in order, but holds its answers back until it has been
// asked for its status for the last time, which is what the relay does at the end.
type slowTerminal struct {
	mu   sync.Mutex
	ends int // how often the agent asks for the status itself
	seen string
	held []string
}

var (
	asked   = regexp.MustCompile(`\x1b\[(?:\?1003h|c|5n)`)
	answers = map[string]string{"\x1b[?1003h": "\x1b[<35;1;1M", "\x1b[c": "\x1b[?62;c", "\x1b[5n": statusOK}
)

// listen takes output; it is called for one chunk after the other.
func (st *slowTerminal) listen(s *screen, chunk []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.seen += string(chunk)
	for at := asked.FindStringIndex(st.seen); at != nil; at = asked.FindStringIndex(st.seen) {
		answer := answers[st.seen[at[0]:at[1]]]
		if answer == statusOK {
			st.ends--
		}
		st.held, st.seen = append(st.held, answer), st.seen[at[1]:]
	}
	if st.ends < 0 {
		st.flush(s)
	}
}

// flush sends each answer when the one before has been read.
func (st *slowTerminal) flush(s *screen) {
	for _, answer := range st.held {
		for start := time.Now(); unread(s.t, s.slave) > 0 && time.Since(start) < time.Second; {
			runtime.Gosched()
		}
		s.send(answer)
	}
	st.held = nil
}

// TestLateAnswers: what the terminal answers after the agent's end is not typed
// into the user's shell.
func TestLateAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		printed string
		own     int
	}{
		"query":        {`\033[c`, 0},
		"mouse":        {`\033[?1003h`, 0},
		"status first": {`\033[5n\033[c`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t)
			st := &slowTerminal{ends: tc.own}
			s.answer = st.listen
			s.run("printf", tc.printed)
			s.wait()
			st.mu.Lock()
			st.flush(s)
			st.mu.Unlock()
			if n := unread(t, s.slave); n != 0 {
				t.Errorf("%d bytes for the shell", n)
			}
			s.send("ls\n") // the control: what comes now is for the shell
			if n := unread(t, s.slave); n != 3 {
				t.Errorf("%d bytes of 3 for the shell", n)
			}
		})
	}
}

// unread tells how much a reader of the terminal would get. The poll makes the
// kernel deliver what is under way.
func unread(t *testing.T, f *os.File) int {
	t.Helper()
	var n int
	control(t, f, func(fd int) (err error) {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil && err != unix.EINTR {
			return err
		}
		n, err = unix.IoctlGetInt(fd, unix.TIOCINQ)
		return err
	})
	return n
}
