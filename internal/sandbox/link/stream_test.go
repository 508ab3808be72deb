package link

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/wire"
)

var _ net.Conn = (*Stream)(nil)

func fill(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(seed, 1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func TestAThousandStreams(t *testing.T) {
	defer noLeak(t)()
	near, far := pair(t)
	go func() {
		for {
			s, err := near.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(s, s)
				s.Close()
			}()
		}
	}()
	var all sync.WaitGroup
	for i := range 1000 {
		all.Go(func() {
			if err := echo(far, uint64(i)); err != nil {
				t.Error(i, err)
			}
		})
	}
	all.Wait()
	near.Close()
	far.Close()
}

// echo sends some KB that only this stream has, and compares what comes back.
func echo(far *Link, seed uint64) error {
	h := web
	h.Port = fmt.Sprint(seed)
	s, err := far.Open(h)
	if err != nil {
		return err
	}
	defer s.Close()
	sent := fill(seed, 3000+int(seed)*37)
	wrote := make(chan error, 1)
	go func() {
		_, err := s.Write(sent)
		wrote <- errors.Join(err, s.CloseWrite())
	}()
	sum := sha256.New()
	n, err := io.Copy(sum, s)
	if err = errors.Join(err, <-wrote); err != nil {
		return err
	}
	if want := sha256.Sum256(sent); !bytes.Equal(sum.Sum(nil), want[:]) {
		return fmt.Errorf("%d bytes came back, and not those that were sent", n)
	}
	return nil
}

// TestSlowReader: who does not read stops its own stream, and no other.
func TestSlowReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := piped(Options{})
		stalled, atNear := opened(t, far, near, web)
		stuck := make(chan error)
		go func() { _, err := stalled.Write(make([]byte, 1<<20)); stuck <- err }()
		synctest.Wait()
		if atNear.in.size != Window || len(atNear.in.b) != Window {
			t.Errorf("a stalled reader holds %d of %d bytes", atNear.in.size, len(atNear.in.b))
		}
		a, b := opened(t, far, near, web)
		sent := fill(1, 5<<20)
		go func() { a.Write(sent); a.CloseWrite() }()
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("%d bytes: %v", len(got), err)
		}
		select {
		case err := <-stuck:
			t.Error("the stalled write ended:", err)
		default:
		}
		if got, err := io.ReadAll(io.LimitReader(atNear, 1<<20)); err != nil || len(got) != 1<<20 {
			t.Errorf("%d bytes of the stalled stream: %v", len(got), err)
		}
		if err := <-stuck; err != nil {
			t.Error(err)
		}
		near.Close()
		far.Close()
	})
}

func TestHalfClose(t *testing.T) {
	near, far := pair(t)
	a, b := opened(t, near, far, Dial{Port: 80})
	a.Write([]byte("question"))
	if err := a.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if q, err := io.ReadAll(b); err != nil || string(q) != "question" {
		t.Fatalf("%q %v", q, err)
	}
	if _, err := a.Write([]byte("more")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("write after the end: %v", err)
	}
	answer := fill(2, 3*MaxWindow) // needs credit, which may still come
	go func() { b.Write(answer); b.Close() }()
	if got, err := io.ReadAll(a); err != nil || !bytes.Equal(got, answer) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	a.Close()
	settled(t, near, far)
}

// settled waits until both ends have forgotten all streams. Each of the two streams that it
// opens is behind everything that was sent before.
func settled(t *testing.T, near, far *Link) {
	t.Helper()
	for range 2 {
		a, b := opened(t, near, far, Dial{Port: 1})
		b.Close()
		io.ReadAll(a)
		a.Close()
		a, b = opened(t, far, near, web)
		b.Close()
		io.ReadAll(a)
		a.Close()
	}
	for _, l := range []*Link{near, far} {
		l.mu.Lock()
		n := l.live[Near] + l.live[Far]
		for _, s := range l.streams {
			if h, ok := s.header.(Dial); s.header == web || ok && h.Port == 1 {
				n-- // one of the above
			}
		}
		if n != 0 {
			t.Errorf("the %v still knows %d streams", l.role, n)
		}
		l.mu.Unlock()
	}
}

// TestCloseDeliversWhatWasWritten: and the other end hears that nobody reads.
func TestCloseDeliversWhatWasWritten(t *testing.T) {
	near, far := pair(t)
	a, b := opened(t, near, far, Dial{Port: 80})
	a.Write([]byte("last words"))
	a.Close()
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read of a closed stream: %v", err)
	}
	var err error
	for err == nil {
		_, err = b.Write(make([]byte, 1024))
	}
	if !errors.Is(err, Gone) {
		t.Errorf("write to who does not read: %v", err)
	}
	if got, err := io.ReadAll(b); err != nil || string(got) != "last words" {
		t.Errorf("%q %v", got, err)
	}
	b.Close()
	a.Close()
	settled(t, near, far)
}

func TestResetIsHeardAtOnce(t *testing.T) {
	near, far := pair(t)
	a, b := opened(t, far, near, web)
	a.Write(make([]byte, Window))
	blocked := make(chan error)
	go func() { _, err := a.Write([]byte("x")); blocked <- err }()
	b.Reset(Refused)
	if err := <-blocked; !errors.Is(err, Refused) {
		t.Errorf("a write that waits: %v", err)
	}
	if _, err := a.Read(make([]byte, 1)); !errors.Is(err, Refused) {
		t.Errorf("read: %v", err)
	}
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("what was not read is lost: %v", err)
	}
	a.Close()
	settled(t, near, far)
}

// TestAShortConnection: it was over before anybody accepted it, and is there all the same.
func TestAShortConnection(t *testing.T) {
	near, far := pair(t)
	a, err := far.Open(web)
	if err != nil {
		t.Fatal(err)
	}
	a.Write([]byte("fire and forget"))
	a.Close()
	a, err = far.Open(web)
	if err != nil {
		t.Fatal(err)
	}
	a.Reset(Gone) // of this one nothing is left
	last, err := far.Open(web)
	if err != nil {
		t.Fatal(err)
	}
	last.Write([]byte("last"))
	s := accept(t, near)
	if got, err := io.ReadAll(s); err != nil || string(got) != "fire and forget" {
		t.Errorf("%q %v", got, err)
	}
	b := make([]byte, 4)
	for {
		s = accept(t, near)
		if n, err := s.Read(b); err == nil && string(b[:n]) == "last" {
			break
		} else if !errors.Is(err, Gone) {
			t.Errorf("%q %v", b[:n], err)
		}
	}
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := piped(Options{})
		a, b := opened(t, far, near, web)
		began := time.Now()
		a.SetReadDeadline(began.Add(time.Minute))
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		a.SetWriteDeadline(time.Now().Add(time.Minute))
		n, err := a.Write(make([]byte, 2*Window))
		if !errors.Is(err, os.ErrDeadlineExceeded) || n != Window {
			t.Errorf("%d bytes, %v", n, err)
		}
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Error("the error is no timeout")
		}
		a.SetDeadline(time.Time{})
		go func() { time.Sleep(time.Hour); b.Write([]byte("late")) }()
		if n, err := a.Read(make([]byte, 9)); n != 4 || err != nil {
			t.Errorf("without a deadline: %d, %v", n, err)
		}
		go func() { time.Sleep(time.Second); a.SetReadDeadline(time.Unix(1, 0)) }()
		if _, err := a.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a deadline that is set while somebody reads: %v", err)
		}
		near.Close()
		far.Close()
	})
}

// TestSilence: a far end that stops within a frame, or reads nothing, is given up.
func TestSilence(t *testing.T) {
	for name, greeting := range map[string]string{"nothing": "", "half a frame": prefaces[Far] + "\x02\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := net.Pipe()
				near := New(a, Near, Options{Alive: time.Minute})
				s, err := near.Open(Dial{Port: 80})
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				go b.Write([]byte(greeting))
				if _, err := s.Read(make([]byte, 1)); !errors.Is(err, ErrSilent) || time.Since(began) != 2*time.Minute {
					t.Errorf("%v after %v", err, time.Since(began))
				}
				near.Close()
				b.Close()
			})
		})
	}
}

func TestPingsAreAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := piped(Options{Alive: time.Minute})
		time.Sleep(24 * time.Hour)
		if near.Err() != nil || far.Err() != nil {
			t.Error(near.Err(), far.Err())
		}
		near.Close()
		synctest.Wait()
		if !errors.Is(far.Err(), ErrEnded) {
			t.Error(far.Err())
		}
		far.Close()
	})
}

// TestEitherEndIsKilled: everything that waits on the other end wakes up.
func TestEitherEndIsKilled(t *testing.T) {
	for _, role := range []Role{Near, Far} {
		t.Run(role.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := piped(Options{})
				killed, left := near, far
				if role == Far {
					killed, left = far, near
				}
				var waiting sync.WaitGroup
				var all []*Stream
				for range 100 {
					a, b := opened(t, far, near, web)
					s := map[bool]*Stream{true: a, false: b}[left == far]
					all = append(all, s)
					waiting.Go(func() { s.Read(make([]byte, 1)) })
					waiting.Go(func() { s.Write(make([]byte, 1<<20)) })
				}
				waiting.Go(func() { left.Accept() })
				synctest.Wait()
				killed.rw.Close() // nothing more leaves it, as after kill -9
				waiting.Wait()
				for _, s := range all {
					if _, err := s.Read(make([]byte, 1)); err == nil || !errors.Is(err, left.Err()) {
						t.Fatal(err)
					}
				}
				<-left.Done()
				near.Close()
				far.Close()
			})
		})
	}
}

// TestTheLimitOfStreams: when one ends another may begin.
func TestTheLimitOfStreams(t *testing.T) {
	near, far := pair(t)
	var ours []*Stream
	for range MaxConns {
		s, err := far.Open(web)
		if err != nil {
			t.Fatal(err)
		}
		ours = append(ours, s)
	}
	if _, err := far.Open(web); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more: %v", err)
	}
	for range MaxConns {
		accept(t, near)
	}
	ours[0].Reset(Gone)
	for { // the answer to the reset is on its way
		if s, err := far.Open(web); err == nil {
			if _, err := s.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			break
		} else if !errors.Is(err, ErrTooMany) {
			t.Fatal(err)
		}
	}
	accept(t, near)
}

// TestCrossing: both ends open their last streams at once. Some are refused, none is lost.
func TestCrossing(t *testing.T) {
	near, far := pair(t)
	const each = MaxStreams * 3 / 4
	count := func(from *Link, h Header, refused *int) {
		for range each {
			s, err := from.Open(h)
			if errors.Is(err, ErrTooMany) {
				*refused++
				continue
			}
			if err != nil {
				t.Error(err)
				return
			}
			defer func() {
				// The other end answers each stream that it accepts.
				if _, err := s.Read(make([]byte, 1)); errors.Is(err, TooMany) {
					*refused++
				} else if err != nil {
					t.Error(err)
				}
			}()
		}
	}
	answer := func(l *Link, accepted *int) {
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			*accepted++
			s.Write([]byte("y"))
		}
	}
	var refused, accepted [2]int
	var openers, answerers sync.WaitGroup
	answerers.Go(func() { answer(near, &accepted[0]) })
	answerers.Go(func() { answer(far, &accepted[1]) })
	openers.Go(func() { count(near, Dial{Port: 80}, &refused[0]) })
	openers.Go(func() { count(far, web, &refused[1]) })
	openers.Wait()
	near.Close()
	far.Close()
	answerers.Wait()
	if sum := refused[0] + refused[1] + accepted[0] + accepted[1]; sum != 2*each {
		t.Errorf("%v refused, %v accepted, %d opened", refused, accepted, 2*each)
	}
}

func TestMessagesKeepTheirBounds(t *testing.T) {
	near, far := pair(t)
	a, b := opened(t, near, far, Datagrams{Port: "dns/udp"})
	lengths := []int{0, 1, 0, MaxDatagram, 512, MaxDatagram, 0, MaxDatagram}
	to := netip.MustParseAddrPort("127.0.0.1:5353")
	go func() {
		for i, n := range lengths {
			if _, err := (Packets{b}).WriteToUDPAddrPort(fill(uint64(i), n), to); err != nil {
				t.Error(err)
			}
		}
		b.Close()
	}()
	p := make([]byte, MaxDatagram)
	for i, want := range lengths {
		n, from, err := (Packets{a}).ReadFromUDPAddrPort(p)
		if err != nil || from != to || !bytes.Equal(p[:n], fill(uint64(i), want)) {
			t.Fatalf("datagram %d: %d bytes from %v, %v", i, n, from, err)
		}
	}
	if _, _, err := (Packets{a}).ReadFromUDPAddrPort(p); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	if _, err := (Packets{a}).WriteToUDPAddrPort(make([]byte, MaxDatagram+1), to); err == nil {
		t.Error("a datagram that is too long was taken")
	}
}

func TestAMessageThatDoesNotFitIsNotLost(t *testing.T) {
	near, far := pair(t)
	a, b := opened(t, near, far, Control{})
	b.Write([]byte("message"))
	if _, err := a.Read(make([]byte, 3)); !errors.Is(err, io.ErrShortBuffer) {
		t.Error(err)
	}
	p := make([]byte, 7)
	if n, err := a.Read(p); err != nil || string(p[:n]) != "message" {
		t.Errorf("%q %v", p[:n], err)
	}
}

func TestControlMessages(t *testing.T) {
	near, far := pair(t)
	a, b := opened(t, near, far, Control{})
	for _, m := range []Message{{Kind: wire.Go}, {Kind: wire.Signal, Signal: 2}, {Kind: wire.Size, Terminal: &TerminalSize{Rows: 24, Cols: 80}}} {
		if err := Send(a, m); err != nil {
			t.Error(err)
		}
		if Send(b, m) == nil {
			t.Errorf("the far end sends %q", m.Kind)
		}
		if got, err := Receive(b); err != nil || got.Kind != m.Kind {
			t.Errorf("%+v, %v", got, err)
		}
	}
	for _, m := range []Message{{Kind: Probe, Seen: &wire.Observation{Probe: "caps", Detail: "<none>"}}, {Kind: wire.Walls, Keyring: 7}, {Kind: wire.Started}, {Kind: wire.PTY},
		{Kind: Saw, Outside: &Fact{Name: "root", Value: "tmpfs"}}, {Kind: Answered, Answer: &Answer{Ports: []uint16{80}, PID: 2, Command: "sh"}},
		{Kind: wire.Stopped}, {Kind: wire.Exit, Status: 256}, {Kind: wire.Exit}, {Kind: wire.Failed, Failure: &wire.Failure{Step: "net", Text: "no", Errno: 1}}} {
		if err := Send(b, m); err != nil {
			t.Error(err)
		}
		if got, err := Receive(a); err != nil || got.Kind != m.Kind || got.Status != m.Status {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestHeadersArrive(t *testing.T) {
	near, far := pair(t)
	order := wire.Command{Argv: [][]byte{[]byte("sh"), []byte("-c"), []byte("\xff")}, Env: [][]byte{[]byte("A=b")}, TTY: 7, Rows: 24, Cols: 80}
	for _, h := range []Header{web, Datagrams{"dns/udp"}, Dial{8080}, Control{}, Plan{}, Exec{Process: 3, Command: order}, Stdio{3, Terminal}, Stdio{0, Stdin},
		Overlay{2, 7, true}, Lay{1}, Put{[]byte("/work/\xfe.env")}} {
		from, to := near, far
		if h == web {
			from, to = far, near
		}
		_, s := opened(t, from, to, h)
		if got, want := fmt.Sprintf("%T%v", s.Header(), s.Header()), fmt.Sprintf("%T%v", h, h); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		if _, err := to.Open(h); err == nil {
			t.Errorf("the %v opens %T", to.role, h)
		}
	}
	for _, h := range []Header{Dial{}, Exec{}, Stdio{1, "other"}, Put{[]byte("relative")}, Put{[]byte("/a\x00b")}, Datagrams{}, Put{append([]byte("/"), make([]byte, 9000)...)}} {
		if _, err := near.Open(h); err == nil {
			t.Errorf("%T%v was sent", h, h)
		}
	}
	if near.Err() != nil || far.Err() != nil {
		t.Error(near.Err(), far.Err())
	}
}

// TestOneWayStreams: data goes where the kind says.
func TestOneWayStreams(t *testing.T) {
	near, far := pair(t)
	a, b := opened(t, near, far, Lay{})
	go func() { a.Write([]byte("A=phantom")); a.CloseWrite() }()
	if got, err := io.ReadAll(b); err != nil || string(got) != "A=phantom" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := b.Write([]byte("x")); err == nil {
		t.Error("the far end wrote to it")
	}
	b.Close()
	if got, err := io.ReadAll(a); err != nil || len(got) != 0 {
		t.Errorf("%q %v", got, err)
	}
}

// TestSever: the network of the sandbox ends, on streams that are open and on those that
// the far end still opens, and everything else goes on.
func TestSever(t *testing.T) {
	near, far := pair(t)
	conn, atNear := opened(t, far, near, web)
	waits, err := far.Open(web) // nobody accepts it
	if err != nil {
		t.Fatal(err)
	}
	dial, atFar := opened(t, near, far, Dial{Port: 80})
	control, hears := opened(t, near, far, Control{})
	near.Sever()
	late, err := far.Open(web)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Stream{"open": conn, "here": atNear, "waits": waits, "to a server": dial, "at the server": atFar, "late": late} {
		if n, err := s.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
	if err := Send(control, Message{Kind: wire.Go}); err != nil {
		t.Error(err)
	}
	if m, err := Receive(hears); err != nil || m.Kind != wire.Go {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestInterrupt: while the way is broken connections end and none is taken, datagrams wait, and
// everything else goes on. Afterwards there are connections again.
func TestInterrupt(t *testing.T) {
	near, far := pair(t)
	conn, atNear := opened(t, far, near, web)
	dial, atFar := opened(t, near, far, Dial{Port: 80})
	control, hears := opened(t, near, far, Control{})
	asks, answers := opened(t, near, far, Datagrams{Port: "dns"})
	near.Interrupt(true)
	late, err := far.Open(web)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*Stream{"open": conn, "here": atNear, "to a server": dial, "at the server": atFar, "late": late} {
		if n, err := s.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
	answers.Write([]byte("later"))
	if err := Send(control, Message{Kind: wire.Go}); err != nil {
		t.Error(err)
	}
	if m, err := Receive(hears); err != nil || m.Kind != wire.Go {
		t.Errorf("%+v, %v", m, err)
	}
	near.Interrupt(false)
	if n, err := asks.Read(make([]byte, 10)); n != 5 || err != nil {
		t.Errorf("a datagram: %d bytes, %v", n, err)
	}
	opened(t, far, near, web)
}

// TestPause: while the network is held nothing of it is read, by whichever way, nothing new is
// taken, and everything else goes on. Afterwards all that was sent comes.
func TestPause(t *testing.T) {
	near, far := pair(t)
	conn, atNear := opened(t, far, near, web)
	passed, passes := opened(t, far, near, web)
	control, hears := opened(t, near, far, Control{})
	in, out := sockets(t)
	go func() { passes.WriteTo(in); in.Close() }()
	passed.Write([]byte("a"))
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	near.Pause()
	for _, s := range []*Stream{conn, passed} {
		s.Write([]byte("secret"))
		s.CloseWrite()
	}
	late, err := far.Open(web)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := late.Read(make([]byte, 1)); !errors.Is(err, Refused) { // what was sent before has come too
		t.Errorf("a connection while it is held: %v", err)
	}
	atNear.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	out.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	for name, r := range map[string]io.Reader{"read": atNear, "passed on": out} {
		if n, err := r.Read(make([]byte, 10)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
	}
	if err := Send(control, Message{Kind: wire.Go}); err != nil {
		t.Error(err)
	}
	if m, err := Receive(hears); err != nil || m.Kind != wire.Go {
		t.Errorf("%+v, %v", m, err)
	}
	near.Resume()
	atNear.SetReadDeadline(time.Time{})
	out.SetReadDeadline(time.Time{})
	for name, r := range map[string]io.Reader{"read": atNear, "passed on": out} {
		if b, err := io.ReadAll(r); string(b) != "secret" || err != nil {
			t.Errorf("%s afterwards: %q, %v", name, b, err)
		}
	}
}

func TestWritersDoNotMix(t *testing.T) {
	near, far := pair(t)
	a, b := opened(t, far, near, web)
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() { a.Write(bytes.Repeat([]byte{byte(i)}, 100_000)) })
	}
	go func() { writers.Wait(); a.Close() }()
	got, err := io.ReadAll(b)
	if err != nil || len(got) != 800_000 {
		t.Fatal(len(got), err)
	}
	for ; len(got) > 0; got = got[100_000:] {
		if n := bytes.Count(got[:100_000], got[:1]); n != 100_000 {
			t.Errorf("another write begins after %d bytes", n)
		}
	}
}

// TestConnectionsLeaveRoom: the agent can open as many connections as it likes, and the
// supervisor still starts commands and sends late masks.
func TestConnectionsLeaveRoom(t *testing.T) {
	near, far := still(Near), still(Far)
	for n := range MaxConns {
		if _, err := far.Open(web); err != nil {
			t.Fatal(n, err)
		}
		if _, err := near.feed(far.out); err != nil {
			t.Fatal(err)
		}
		far.out = far.out[:0]
	}
	if _, err := far.Open(web); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more connection: %v", err)
	}
	near.out = near.out[:0]
	id := uint32(far.next)
	if _, err := near.feed(openFrame(id, web)); err != nil || !bytes.Equal(near.out, resetFrame(id, TooMany)) {
		t.Errorf("one more that is forged: %x, %v", near.out, err)
	}
	for n := range MaxStreams - MaxConns {
		if _, err := near.Open(Put{Path: []byte("/work/.env")}); err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := near.Open(Dial{Port: 80}); !errors.Is(err, ErrTooMany) {
		t.Errorf("one more in all: %v", err)
	}
}

// TestASignalPassesTheCrowd: whoever sends a signal does not wait until thousands of
// connections have each had their turn.
func TestASignalPassesTheCrowd(t *testing.T) {
	l := still(Near)
	l.feed([]byte(prefaces[Far]))
	control, err := l.Open(Control{})
	if err != nil {
		t.Fatal(err)
	}
	for n := range uint32(3000) {
		l.feed(openFrame(2+2*n, web))
		s := accept(t, l)
		s.unsent, s.pending = make([]byte, Window), true
		l.push(s)
	}
	control.unsent, control.pending = []byte("signal"), true
	l.push(control)
	l.out = l.out[:0]
	l.fill()
	at := bytes.Index(l.out, []byte("signal"))
	if at < 0 || at > 2*Window {
		t.Errorf("the signal is at byte %d of what is sent next", at)
	}
}

// TestEndsDoNotWaitForAWrite: a Write that waits for credit is cut off, and the other end
// hears of the end.
func TestEndsDoNotWaitForAWrite(t *testing.T) {
	for name, end := range map[string]func(*Stream) error{
		"reset": func(s *Stream) error { return s.Reset(Refused) }, "close": (*Stream).Close, "close write": (*Stream).CloseWrite} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := piped(Options{})
				a, b := opened(t, far, near, web)
				var n int
				var cut error
				go func() { n, cut = a.Write(make([]byte, 2*Window)) }()
				synctest.Wait()
				end(a)
				synctest.Wait()
				if n != Window || !errors.Is(cut, net.ErrClosed) {
					t.Errorf("the write: %d, %v", n, cut)
				}
				got, err := io.ReadAll(b)
				if name == "reset" && !errors.Is(err, Refused) || name != "reset" && (err != nil || len(got) != Window) {
					t.Errorf("the other end: %d bytes, %v", len(got), err)
				}
				near.Close()
				far.Close()
			})
		})
	}
}

// TestOpensInOrder: streams that have to wait are opened in the order of their numbers,
// whatever their kinds.
func TestOpensInOrder(t *testing.T) {
	l := still(Near)
	l.out = append(l.out, make([]byte, cap(l.out)-len(l.out))...) // there is no room
	for i := range 20 {
		var h Header = Dial{Port: 80}
		if i%3 == 0 {
			h = Stdio{Of: Stdin}
		}
		if _, err := l.Open(h); err != nil {
			t.Fatal(err)
		}
	}
	l.out = l.out[:0]
	l.kick()
	far := still(Far)
	far.greeted = headSize
	if used, err := far.feed(l.out); err != nil || used != len(l.out) {
		t.Error(err)
	}
}

// TestCloseRead: who waits reads the end of data, and the other direction goes on.
func TestCloseRead(t *testing.T) {
	near, far := pair(t)
	b, a := opened(t, far, near, web)
	read := make(chan error)
	go func() { _, err := a.Read(make([]byte, 1)); read <- err }()
	a.CloseRead()
	if err := <-read; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	heard := make(chan struct{})
	go func() { b.Unheard(); close(heard) }()
	b.Write([]byte("nobody reads this"))
	a.Write([]byte("last words"))
	a.Close()
	if got, err := io.ReadAll(b); err != nil || string(got) != "last words" {
		t.Errorf("%q, %v", got, err)
	}
	<-heard
}

// TestNoSplinters: the rest of a window makes no frame of its own while more waits; the end of
// a write does.
func TestNoSplinters(t *testing.T) {
	l := still(Far)
	l.feed([]byte(prefaces[Near]))
	s, err := l.Open(web)
	if err != nil {
		t.Fatal(err)
	}
	s.credit = least + 3
	l.out = l.out[:0]
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Write(make([]byte, least+10))
	}()
	l.mu.Lock()
	for !s.writing {
		l.mu.Unlock()
		l.mu.Lock()
	}
	if s.credit != 0 || len(s.unsent) != 7 {
		t.Errorf("credit %d, %d bytes wait", s.credit, len(s.unsent))
	}
	l.mu.Unlock()
	for _, c := range []struct{ credit, left int }{{3, 7}, {3, 7}, {1, 0}} {
		if _, err := l.feed(creditFrame(s.id, uint32(c.credit))); err != nil {
			t.Fatal(err)
		}
		l.mu.Lock()
		if len(s.unsent) != c.left {
			t.Errorf("after credit for %d more: %d bytes wait, want %d", c.credit, len(s.unsent), c.left)
		}
		l.mu.Unlock()
	}
	<-done
}

// TestStandsStill: a far end that was made to stand still is not given up, however long it is
// silent. When it goes on, it has as long as any other to answer.
func TestStandsStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := net.Pipe()
		near := New(a, Near, Options{Alive: time.Minute})
		go io.Copy(io.Discard, b)
		near.Stand(true)
		time.Sleep(time.Hour)
		if near.Err() != nil {
			t.Errorf("it stands still: %v", near.Err())
		}
		near.Stand(false)
		began := time.Now()
		<-near.Done()
		if took := time.Since(began); !errors.Is(near.Err(), ErrSilent) || took < time.Minute || took > 2*time.Minute {
			t.Errorf("%v after %v", near.Err(), took)
		}
		b.Close()
	})
}
