// Package hand moves a puppet: it starts a session in which the puppet runs, gives it
// orders, and hears its answers. The puppet's answers come through a file of the
// workspace, so that it makes no difference whether the session has a terminal.
package hand

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// Puppet is the name of the program, as it lies beside the tests that use it.
const Puppet = "puppet"

// Session is a running session with a puppet in it.
type Session struct {
	ID  string
	Cmd *exec.Cmd // ringfence itself

	t      testing.TB
	w      *world.World
	within []string
	in     io.Writer
	close  func() // ends the puppet's orders
	screen Output // what ringfence says: standard error, or the whole terminal
	exited chan struct{}

	answers answers // of the terminal

	mu   sync.Mutex
	last int
	due  map[int]chan order.Answer
}

// Launch says how a session begins.
type Launch struct {
	Terminal bool     // it has one
	Env      []string // beside the world's
	Flags    []string // of ringfence run
	Within   []string // a command that runs ringfence, such as nsenter with its flags
}

// Start begins a session without a terminal.
func Start(t testing.TB, w *world.World, flags ...string) *Session {
	t.Helper()
	return Launch{Flags: flags}.Start(t, w)
}

// Start returns when the puppet is ready. The session ends with the test.
func (l Launch) Start(t testing.TB, w *world.World) *Session {
	t.Helper()
	before := ids(w, l.Within)
	file := w.Put(fmt.Sprintf("answers-%d", time.Now().UnixNano()), nil, 0o600)
	if _, err := os.Stat(filepath.Join(w.Dir, Puppet)); err != nil {
		w.Bring(Puppet)
	}
	args := append([]string{"run"}, l.Flags...)
	args = append(args, "--", "./"+Puppet, filepath.Base(file))
	s := &Session{t: t, w: w, within: l.Within, exited: make(chan struct{}), due: map[int]chan order.Answer{}}
	s.Cmd = command(context.Background(), w, l.Within, args)
	s.Cmd.Env = append(s.Cmd.Env, l.Env...)
	s.begin(l.Terminal)
	t.Cleanup(func() {
		s.Stop()
		if t.Failed() {
			said := s.Screen()
			t.Logf("session %s said:\n%q", s.ID, said[:min(len(said), 2000)])
		}
	})
	ready := s.expect(order.Ready)
	go s.listen(file)
	s.wait(ready, "its first word")
	for _, id := range ids(w, l.Within) {
		if !slices.Contains(before, id) {
			s.ID = id
		}
	}
	return s
}

func (s *Session) begin(terminal bool) {
	s.t.Helper()
	if terminal {
		tty, err := pty.StartWithSize(s.Cmd, &pty.Winsize{Rows: 24, Cols: 80})
		if err != nil {
			s.t.Fatal(err)
		}
		s.answers.to = tty
		go io.Copy(io.MultiWriter(&s.screen, &s.answers), tty)
		s.in, s.close = tty, func() {
			tty.WriteString("\x04")
			s.answers.begin()
		}
		s.t.Cleanup(func() { tty.Close() })
	} else {
		in, err := s.Cmd.StdinPipe()
		if err != nil {
			s.t.Fatal(err)
		}
		s.in, s.close, s.Cmd.Stderr = in, func() { in.Close() }, &s.screen
		if err := s.Cmd.Start(); err != nil {
			s.t.Fatal(err)
		}
	}
	go func() {
		s.Cmd.Wait()
		close(s.exited)
	}()
}

// Begin gives an order; its answer comes when it is done.
func (s *Session) Begin(o order.Order) <-chan order.Answer {
	s.t.Helper()
	s.mu.Lock()
	s.last++
	o.ID = s.last
	s.mu.Unlock()
	c := s.expect(o.ID)
	b, err := json.Marshal(o)
	if err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.in.Write(append(b, '\n')); err != nil {
		s.t.Fatalf("order %+v: %v", o, err)
	}
	return c
}

// Type types at the terminal what is no order.
func (s *Session) Type(text string) {
	s.t.Helper()
	s.answers.typed(text)
	if _, err := io.WriteString(s.in, text); err != nil {
		s.t.Fatal(err)
	}
}

// Do gives an order and waits for its answer.
func (s *Session) Do(o order.Order) order.Answer {
	s.t.Helper()
	return s.wait(s.Begin(o), fmt.Sprintf("%+v", o))
}

// Wait waits for the answer to an order that was given.
func (s *Session) Wait(c <-chan order.Answer) order.Answer {
	s.t.Helper()
	return s.wait(c, "an order")
}

func (s *Session) wait(c <-chan order.Answer, what string) order.Answer {
	s.t.Helper()
	select {
	case a := <-c:
		return a
	case <-s.exited:
		s.t.Fatalf("the session ended (%v) before the answer to %s\n%q", s.Cmd.ProcessState, what, s.Screen())
	case <-time.After(wait.Patience):
		s.t.Fatalf("no answer to %s\n%q", what, s.Screen())
	}
	panic("not reached")
}

func (s *Session) expect(id int) chan order.Answer {
	c := make(chan order.Answer, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.due[id] = c
	return c
}

// listen reads the answers until the session has ended.
func (s *Session) listen(file string) {
	f, err := os.Open(file)
	if err != nil {
		return
	}
	defer f.Close()
	var rest []byte
	buf := make([]byte, 64<<10)
	for {
		n, _ := f.Read(buf)
		rest = append(rest, buf[:n]...)
		for {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				break
			}
			rest = after
			s.hear(line)
		}
		if n > 0 {
			continue
		}
		select {
		case <-s.exited:
			return
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *Session) hear(line []byte) {
	var a order.Answer
	if json.Unmarshal(line, &a) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.due[a.ID]; c != nil {
		c <- a
		delete(s.due, a.ID)
	}
}

// Screen is what ringfence has said so far; with a terminal, all that is on it.
func (s *Session) Screen() string { return s.screen.String() }

// Stop ends the puppet and returns ringfence's status. It may be called again.
func (s *Session) Stop() int {
	s.t.Helper()
	s.close()
	select {
	case <-s.exited:
	case <-time.After(wait.Patience):
		s.t.Errorf("the session does not end: %q", s.Screen())
		s.Cmd.Process.Kill()
		<-s.exited
	}
	return s.Cmd.ProcessState.ExitCode()
}

// Exited is closed when ringfence has ended.
func (s *Session) Exited() <-chan struct{} { return s.exited }

// Output can be read while it is written.
type Output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// ids are the sessions that can be asked now.
func ids(w *world.World, within []string) []string {
	var out []string
	for _, s := range requests(w, within) {
		out = append(out, s.Session)
	}
	return out
}
