package native

import (
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// patience is far longer than anything here takes.
const patience = 20 * time.Second

// listening is a sandbox that hears its first process, which the test plays; with a sentry
// the test plays PID 1 on it, and has PID 1 around it besides.
func listening(t *testing.T, sentry bool) (s *sandbox, inside, around *wire.Conn) {
	t.Helper()
	pair := func() (near, far *wire.Conn) {
		near, file, err := wire.Pair()
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		fd, err := unix.FcntlInt(file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		far = wire.Inherited(fd)
		t.Cleanup(near.Shutdown)
		t.Cleanup(far.Shutdown)
		return near, far
	}
	s = &sandbox{first: &First{Kill: func() {}, Wait: func() syscall.WaitStatus { return 0 }}, exit: make(chan struct{})}
	s.conn, inside = pair()
	if sentry {
		s.around, around = pair()
		go s.listenAround()
	}
	go s.listen()
	return s, inside, around
}

func send(t *testing.T, c *wire.Conn, m wire.Message, fds ...int) {
	t.Helper()
	if err := c.Send(m, fds...); err != nil {
		t.Fatal(err)
	}
}

// isClosed wants that nobody has the other end of a pipe any more.
func isClosed(t *testing.T, r *os.File) {
	t.Helper()
	r.SetReadDeadline(time.Now().Add(patience))
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("a descriptor that nobody asked for was kept: %v", err)
	}
}

func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// TestUnaskedSocket: who sends sockets that nobody asked for does not keep the supervisor
// from hearing the end, and the sockets are closed.
func TestUnaskedSocket(t *testing.T) {
	for _, sentry := range []bool{false, true} {
		s, inside, _ := listening(t, sentry)
		r, w := pipe(t)
		for range 3 {
			send(t, inside, wire.Message{Kind: wire.Socket})
			send(t, inside, wire.Message{Kind: wire.Socket}, int(w.Fd()))
		}
		w.Close()
		isClosed(t, r)
		send(t, inside, wire.Message{Kind: wire.Exit, Status: 7 << 8})
		inside.Close()
		select {
		case <-s.exit:
		case <-time.After(patience):
			t.Fatalf("sentry %v: the end was not heard", sentry)
		}
		if exit, _ := s.Wait(); exit != (rung.Exit{Status: 7 << 8}) {
			t.Errorf("sentry %v: %+v", sentry, exit)
		}
	}
}

// TestSocketFromTheSentry: a socket is asked of PID 1 around a sentry, and what the sentry
// sends meanwhile is no answer.
func TestSocketFromTheSentry(t *testing.T) {
	s, inside, around := listening(t, true)
	r, w := pipe(t)
	fr, forged := pipe(t)
	type got struct {
		file *os.File
		err  error
	}
	came := make(chan got, 1)
	go func() {
		f, err := s.socket(false)
		came <- got{f, err}
	}()
	if m, _, err := around.Receive(); err != nil || m.Kind != wire.Socket {
		t.Fatalf("%+v, %v", m, err)
	}
	send(t, inside, wire.Message{Kind: wire.Socket}, int(forged.Fd()))
	forged.Close()
	isClosed(t, fr) // so it was heard before the answer
	send(t, around, wire.Message{Kind: wire.Socket}, int(w.Fd()))
	select {
	case g := <-came:
		if g.err != nil {
			t.Fatal(g.err)
		}
		g.file.Write([]byte("x"))
		g.file.Close()
	case <-time.After(patience):
		t.Fatal("no socket came")
	}
	if n, err := r.Read(make([]byte, 2)); n != 1 || err != nil {
		t.Errorf("the socket is not that of PID 1 around the sentry: %d, %v", n, err)
	}
}

// TestTerminalFromTheSentry: a sentry that answers with a descriptor, or twice, has started
// nothing that anybody is given.
func TestTerminalFromTheSentry(t *testing.T) {
	s, inside, _ := listening(t, true)
	p := s.execs.add(s)
	r, w := pipe(t)
	send(t, inside, wire.Message{Kind: wire.Exec, ID: p.id}, int(w.Fd()))
	w.Close()
	isClosed(t, r)
	for range 3 {
		send(t, inside, wire.Message{Kind: wire.Exec, ID: p.id})
	}
	select {
	case err := <-p.began:
		if err != nil || p.terminal != nil {
			t.Errorf("%v, %v", err, p.terminal)
		}
	case <-time.After(patience):
		t.Fatal("the start was not heard")
	}
	if m, _, err := inside.Receive(); err != nil || m.Kind != wire.Signal || m.ID != p.id {
		t.Errorf("a second answer was taken: %+v, %v", m, err)
	}
}
