package far

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
	"ringfence.dev/ringfence/test/wait"
)

// forged is a place whose far end is the test.
type forged struct {
	shared bool
	play   func(there net.Conn)
	ground Ground
}

func (forged) Name() string                           { return "forged" }
func (forged) Offer() rung.Offer                      { return rung.Offer{} }
func (forged) Try(context.Context) []hostfacts.Result { return nil }
func (f forged) Shared() bool                         { return f.shared }
func (f forged) Open(context.Context, Begin) (End, error) {
	here, there, err := sockets()
	if err == nil {
		go f.play(there)
	}
	return End{ReadWriteCloser: here, Ground: f.ground}, err
}

func sockets() (a, b net.Conn, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	var both [2]net.Conn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		if both[i], err = net.FileConn(f); err != nil {
			return nil, nil, err
		}
		f.Close()
	}
	return both[0], both[1], nil
}

// script is a far end that says what it is told to, in the form of the protocol.
type script struct {
	t       *testing.T
	link    *link.Link
	control *link.Stream
	streams []*link.Stream // all others, as they were opened
	tty     uint8
}

// honest takes the plan as a far end does.
func honest(t *testing.T, tty uint8, then func(*script)) func(net.Conn) {
	return func(c net.Conn) {
		s := &script{t: t, link: link.New(c, link.Far, link.Options{}), tty: tty}
		t.Cleanup(func() { s.link.Close() })
		for range 2 + streamsOf(tty) {
			stream, err := s.link.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			if _, ok := stream.Header().(link.Plan); ok {
				io.Copy(io.Discard, stream)
			}
			if s.control == nil {
				s.control = stream
				continue
			}
			s.streams = append(s.streams, stream)
		}
		then(s)
	}
}

func (s *script) say(m link.Message) { link.Send(s.control, m) }

func (s *script) hear(want wire.Kind) {
	if m, err := link.Receive(s.control); err != nil || m.Kind != want {
		s.t.Errorf("the near end says %q, %v; want %q", m.Kind, err, want)
	}
}

// raise is a launch up to the start of the agent.
func (s *script) raise() {
	s.say(link.Message{Kind: link.Probe, Seen: &wire.Observation{Probe: "caps"}})
	s.say(link.Message{Kind: link.Saw, Outside: &link.Fact{Name: "root", Value: "tmpfs"}})
	for _, kind := range probe.Kinds() {
		s.say(link.Message{Kind: link.Saw, Outside: &link.Fact{Name: probe.LookerNS + kind, Value: "1"}})
	}
	s.say(link.Message{Kind: link.Saw, Outside: &link.Fact{Name: probe.LookerKeyring, Value: "0"}})
	s.say(link.Message{Kind: wire.Walls, Keyring: 7})
	s.hear(wire.Go)
}

func (s *script) start() {
	s.raise()
	s.say(link.Message{Kind: wire.Started})
}

func aPlan(tty uint8) *plan.Plan {
	return &plan.Plan{Version: plan.Version, Process: plan.Process{Argv: []plan.Raw{"true"}, TTY: tty},
		Capture: &plan.Capture{Listen: []plan.Listen{{Name: "tcp", Network: "tcp", Port: 801}, {Name: "dns/udp", Network: "udp", Port: 53}}}}
}

// begun starts a sandbox at a far end that the test plays.
func begun(t *testing.T, f forged, h rung.Hooks) (rung.Sandbox, error) {
	t.Helper()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { null.Close() })
	if h.Stdio.Out == nil {
		h.Stdio = rung.Stdio{In: null, Out: null, Err: null, Stopped: func() {}}
	}
	if h.Net == nil {
		h.Net = func(rung.Net) error { return nil }
	}
	box, err := Rung{f}.Start(t.Context(), aPlan(0), h)
	if box != nil {
		t.Cleanup(func() { box.Close() })
	}
	return box, err
}

// over waits for the end of a sandbox.
func over(t *testing.T, box rung.Sandbox) (rung.Exit, error) {
	t.Helper()
	type end struct {
		exit rung.Exit
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		exit, err := box.Wait()
		ended <- end{exit, err}
	}()
	select {
	case e := <-ended:
		return e.exit, e.err
	case <-time.After(wait.Patience):
		t.Fatal("the sandbox does not end")
		return rung.Exit{}, nil
	}
}

// TestForgedLaunch: a far end that says something else than is due starts nothing, and the
// person hears it in plain words.
func TestForgedLaunch(t *testing.T) {
	flood := func(s *script) {
		for range maxProbes + 1 {
			s.say(link.Message{Kind: link.Probe, Seen: &wire.Observation{Probe: "caps"}})
		}
	}
	for name, then := range map[string]func(*script){
		"the agent runs before go": func(s *script) { s.say(link.Message{Kind: wire.Started}) },
		"the end before go":        func(s *script) { s.say(link.Message{Kind: wire.Exit}) },
		"a terminal nobody asked":  func(s *script) { s.raise(); s.say(link.Message{Kind: wire.PTY}) },
		"walls twice":              func(s *script) { s.raise(); s.say(link.Message{Kind: wire.Walls}) },
		"too many probes":          flood,
		"one fact without end": func(s *script) {
			for range maxProbes + maxFacts {
				s.say(link.Message{Kind: link.Saw, Outside: &link.Fact{Name: "root", Value: "tmpfs"}})
			}
		},
		"nothing of itself":         func(s *script) { s.say(link.Message{Kind: wire.Walls, Keyring: 7}) },
		"an answer to no question":  func(s *script) { s.say(link.Message{Kind: link.Answered, Answer: &link.Answer{}}) },
		"a message that is none":    func(s *script) { s.control.Write([]byte(`{"kind":"walls","kind":"walls"}`)) },
		"a connection before walls": func(s *script) { s.link.Open(link.Conn{Port: "tcp", From: here, To: here}); s.link.Close() },
		"the link ends":             func(s *script) { s.link.Close() },
		"the link ends after go":    func(s *script) { s.raise(); s.link.Close() },
		"a failure with a screen": func(s *script) {
			s.say(link.Message{Kind: wire.Failed, Failure: &wire.Failure{Step: "net\x1b[2J", Text: "no\u202e", Errno: 1 << 30}})
		},
	} {
		box, err := begun(t, forged{shared: true, play: honest(t, 0, then)}, rung.Hooks{})
		if box != nil || err == nil || strings.ContainsAny(err.Error(), "\x1b\u202e") {
			t.Errorf("%s: %v, %q", name, box, err)
		}
	}
	garbage := func(c net.Conn) { c.Write([]byte(strings.Repeat("GET / HTTP/1.1\r\n", 10))) }
	if box, err := begun(t, forged{shared: true, play: garbage}, rung.Hooks{}); box != nil || !errors.As(err, new(link.Violation)) && err == nil {
		t.Errorf("garbage: %v, %v", box, err)
	}
}

var here = netip.MustParseAddrPort("127.0.0.1:4242")

// TestForgedRun: a wrong word while the agent runs ends the session with an error, and all
// its connections.
func TestForgedRun(t *testing.T) {
	for name, say := range map[string]func(*script){
		"an end that is none":  func(s *script) { s.say(link.Message{Kind: wire.Exit, Status: 0x7f}) },
		"the agent runs again": func(s *script) { s.say(link.Message{Kind: wire.Started}) },
		"walls again":          func(s *script) { s.say(link.Message{Kind: wire.Walls}) },
		"a port of its own":    func(s *script) { s.link.Open(link.Conn{Port: "host-port/22", From: here, To: here}) },
		"a port of datagrams":  func(s *script) { s.link.Open(link.Conn{Port: "dns/udp", From: here, To: here}) },
		"a datagram of nobody": func(s *script) { datagrams(s).Write([]byte("short")) },
		"the link ends":        func(s *script) { s.link.Close() },
		"half of a message":    func(s *script) { s.control.Write([]byte(`{"kind":"ex`)) },
	} {
		var taken rung.Net
		ready := make(chan struct{})
		box, err := begun(t, forged{shared: true, play: honest(t, 0, func(s *script) {
			s.start()
			c, err := s.link.Open(link.Conn{Port: "tcp", From: here, To: netip.MustParseAddrPort("192.0.2.1:443")})
			if err != nil {
				t.Error(err)
			}
			c.Write([]byte("x"))
			<-ready
			say(s)
		})}, rung.Hooks{Net: func(n rung.Net) error { taken = n; return nil }})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var c net.Conn
		for _, p := range taken.Ports() {
			if p.Listen != nil {
				c, err = p.Listen.Accept()
			} else {
				go p.Packets.ReadFromUDPAddrPort(make([]byte, 100))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		if to, err := c.(rung.Conn).Original(); err != nil || to.String() != "192.0.2.1:443" {
			t.Errorf("%s: it was going to %v, %v", name, to, err)
		}
		close(ready)
		if exit, err := over(t, box); !exit.Killed || err == nil {
			t.Errorf("%s: %+v, %v", name, exit, err)
		}
		if _, err := io.Copy(io.Discard, c); err == nil {
			t.Errorf("%s: the connection is still there", name)
		}
		for _, p := range taken.Ports() {
			if p.Listen == nil {
				continue
			}
			if _, err := p.Listen.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: accept: %v", name, err)
			}
		}
		if _, err := taken.Dial(80); err == nil {
			t.Errorf("%s: a server inside is reached", name)
		}
	}
}

// TestFrozenByItsWord: a far end that says it stands still and does not, sends nothing on.
func TestFrozenByItsWord(t *testing.T) {
	var taken rung.Net
	said := make(chan struct{})
	box, err := begun(t, forged{shared: true, play: honest(t, 0, func(s *script) {
		s.start()
		c, err := s.link.Open(link.Conn{Port: "tcp", From: here, To: here})
		if err != nil {
			t.Error(err)
			return
		}
		c.Write([]byte("before"))
		for {
			q, err := s.link.Accept()
			if err != nil {
				return
			}
			if a, ok := q.Header().(link.Ask); ok && a.What == link.Freeze {
				c.Write([]byte("the secret"))
				if late, err := s.link.Open(link.Conn{Port: "tcp", From: here, To: here}); err == nil {
					late.Write([]byte("the secret"))
				}
				link.Send(q, link.Message{Kind: link.Answered, Answer: &link.Answer{}})
				close(said)
			}
		}
	})}, rung.Hooks{Net: func(n rung.Net) error { taken = n; return nil }})
	if err != nil {
		t.Fatal(err)
	}
	port := taken.Ports()[0].Listen
	c, err := port.Accept()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 100)
	if n, err := c.Read(b); string(b[:n]) != "before" {
		t.Fatalf("%q, %v", b[:n], err)
	}
	if err := box.Freeze(); err != nil {
		t.Fatal(err)
	}
	<-said
	c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if n, err := c.Read(b); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("while it is frozen: %q, %v", b[:n], err)
	}
	select {
	case <-port.(*listener).arrived:
		t.Error("a connection was taken while it is frozen")
	default:
	}
}

// datagrams is the stream that the near end opened for them.
func datagrams(s *script) *link.Stream {
	stream, err := s.link.Accept()
	if err != nil {
		s.t.Error(err)
	}
	return stream
}

// TestHonestRun: what a far end prints before the end is there when the end is known.
func TestHonestRun(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	stopped := make(chan struct{}, 1)
	var seen rung.Seen
	box, err := begun(t, forged{shared: true, play: honest(t, 0, func(s *script) {
		s.start()
		s.say(link.Message{Kind: wire.Stopped})
		s.hear(wire.Signal)
		s.say(link.Message{Kind: wire.Exit, Status: 7 << 8, Printed: &link.Printed{Out: 12}})
		for _, stream := range s.streams {
			if h, ok := stream.Header().(link.Stdio); ok && h.Of == link.Stdout {
				stream.Write([]byte("last "))
				stream.Write([]byte("words\r\n"))
			}
		}
	})}, rung.Hooks{Witness: func(s rung.Seen) error { seen = s; return nil },
		Stdio: rung.Stdio{In: null, Out: w, Err: w, Stopped: func() { stopped <- struct{}{} }}})
	if err != nil {
		t.Fatal(err)
	}
	if !seen.Word || seen.PID != 0 || seen.Keyring != 7 || seen.Outside["root"] != "tmpfs" || len(seen.Probes) != 1 {
		t.Errorf("seen: %+v", seen)
	}
	<-stopped
	box.Signal(unix.SIGCONT)
	exit, err := over(t, box)
	if err != nil || exit.Code() != 7 {
		t.Errorf("%+v, %v", exit, err)
	}
	w.Close()
	if b, err := io.ReadAll(r); string(b) != "last words\r\n" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// unopened is a place that opens nothing, and counts how often it is told to.
type unopened struct {
	forged
	opened *int
	begin  *Begin
}

func (u unopened) Open(_ context.Context, b Begin) (End, error) {
	*u.opened++
	*u.begin = b
	return End{}, io.ErrUnexpectedEOF
}

// TestOpenedOnce: a place that fails is not opened again outside of the limits, and it has all
// that puts its first process under them.
func TestOpenedOnce(t *testing.T) {
	var joined, opened int
	var b Begin
	h := rung.Hooks{Join: func(pid int) error { joined = pid; return nil },
		Within: func(fork func(int) error) error { // as a group in the way does
			if fork(7) == nil {
				return nil
			}
			return fork(-1)
		}}
	if _, err := (Rung{unopened{opened: &opened, begin: &b}}).Start(t.Context(), aPlan(0), h); err == nil || opened != 1 {
		t.Fatalf("it was opened %d times, %v", opened, err)
	}
	var groups []int
	here, there := net.Pipe()
	defer there.Close()
	end, err := b.fork(func(group int) (End, error) {
		if groups = append(groups, group); len(groups) == 1 {
			return End{}, io.ErrUnexpectedEOF
		}
		return End{ReadWriteCloser: here, PID: 4242}, nil
	})
	if err != nil || end.PID != 4242 || joined != 4242 || len(groups) != 2 {
		t.Errorf("%+v, %v: joined %d, forked in %v", end, err, joined, groups)
	}
	b.Join = func(int) error { return io.ErrClosedPipe }
	if end, err := b.fork(func(int) (End, error) { return End{ReadWriteCloser: here, PID: 1}, nil }); err == nil || end.ReadWriteCloser != nil {
		t.Errorf("a limit that does not hold: %+v, %v", end, err)
	}
	if _, err := here.Write(nil); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("it goes on: %v", err)
	}
}

// TestFilesOfAnotherMachine: what would be written there and lost is refused.
func TestFilesOfAnotherMachine(t *testing.T) {
	for _, p := range []*plan.Plan{
		{Ops: []plan.Op{{Do: plan.DoBind, Dst: "/w", Write: true}}},
		{Watch: []byte("x")}, {Trees: []plan.Tree{{Path: "/w"}}},
	} {
		told := make(chan int, 1)
		place := forged{play: func(there net.Conn) {
			n, _ := io.Copy(io.Discard, there)
			told <- int(n)
		}}
		if box, err := (Rung{place}).Start(t.Context(), p, rung.Hooks{}); box != nil || err == nil {
			t.Errorf("%+v: %v, %v", p, box, err)
		}
		if len(p.Ops) > 0 { // only the place knows what its files are: it was opened
			if n := <-told; n > 0 {
				t.Errorf("%+v: %d bytes were sent", p, n)
			}
		}
	}
}
