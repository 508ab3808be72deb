package relay

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// house is a listener that is served, and an origin behind it.
type house struct {
	engine *Engine
	addr   *net.TCPAddr
	origin *net.TCPListener
	ended  chan report
	taken  chan []byte
}

type report struct {
	Counts
	err error
}

// serve starts a house in which a line decides: "relay", "take" or "refuse"; with
// relay in its name the listener is for origins that speak first. Any other line
// waits for more.
func serve(t *testing.T, o Options, to netip.AddrPort) *house {
	t.Helper()
	h := &house{engine: newEngine(t), ended: make(chan report, 2000), taken: make(chan []byte, 1)}
	h.origin = listen(t)
	if !to.IsValid() {
		to = h.origin.Addr().(*net.TCPAddr).AddrPort()
	}
	l := listen(t)
	h.addr = l.Addr().(*net.TCPAddr)
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	err = h.engine.Serve(fd, Service{
		Patience: patience,
		Dial:     patience,
		Decide: func(_ int, first []byte) Verdict {
			line, _, whole := strings.Cut(string(first), "\n")
			do, known := map[string]Action{"relay": Relay, "take": Take, "refuse": Refuse}[line]
			if !whole || !known {
				return Verdict{Do: Wait}
			}
			return Verdict{Do: do, To: to, Options: o, Ended: func(n Counts, err error) { h.ended <- report{n, err} }}
		},
		Take: func(c *net.TCPConn, first []byte) {
			rest, _ := io.ReadAll(c)
			c.Write([]byte("taken"))
			c.Close()
			h.taken <- append(first, rest...)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	l.SetDeadline(time.Now().Add(patience))
	return l
}

func (h *house) enter(t *testing.T) *net.TCPConn {
	t.Helper()
	c, err := net.DialTCP("tcp", nil, h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c
}

func (h *house) accept(t *testing.T) *net.TCPConn {
	t.Helper()
	c, err := h.origin.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(patience))
	return c
}

func (h *house) end(t *testing.T) report {
	t.Helper()
	select {
	case r := <-h.ended:
		return r
	case <-time.After(patience):
		t.Fatal("the pair does not end")
		return report{}
	}
}

func TestServeRelay(t *testing.T) {
	for _, pieces := range [][]string{
		{"relay\nhello"},
		{"relay\n", "hello"},
		{"re", "lay", "\nhel", "lo"},
	} {
		h := serve(t, Options{}, netip.AddrPort{})
		c := h.enter(t)
		for _, s := range pieces {
			time.Sleep(5 * time.Millisecond) // so that most come alone; any way is fine
			write(t, c, s)
		}
		o := h.accept(t)
		read(t, o, "relay\nhello")
		write(t, o, "welcome")
		read(t, c, "welcome")
		c.CloseWrite()
		readEnd(t, o)
		o.Close()
		readEnd(t, c)
		if r := h.end(t); r.err != nil || r.Sent != 11 || r.Received != 7 {
			t.Errorf("ended with %+v", r)
		}
	}
}

// What comes with the bytes that decide, and is not read with them, is not lost:
// more bytes than a buffer holds, and the end.
func TestServeRest(t *testing.T) {
	for _, pause := range []time.Duration{0, 20 * time.Millisecond} {
		for _, size := range []int{0, 1, chunk - 7, chunk - 6, chunk - 5, 4 * chunk, 1 << 20} {
			h := serve(t, Options{}, netip.AddrPort{})
			c := h.enter(t)
			time.Sleep(pause) // long enough for a first look that finds nothing, most times
			go func() {
				c.Write(append([]byte("relay\n"), make([]byte, size)...))
				c.CloseWrite()
			}()
			o := h.accept(t)
			if n, err := io.Copy(io.Discard, o); n != int64(size+6) || err != nil {
				t.Fatalf("origin got %d bytes of %d, %v", n, size+6, err)
			}
			o.Close()
			if r := h.end(t); r.err != nil || r.Sent != int64(size+6) {
				t.Fatalf("ended with %+v", r)
			}
		}
	}
}

func TestServeTake(t *testing.T) {
	long := strings.Repeat("x", chunk+100)
	for _, tc := range []struct {
		name, said string
	}{
		{"at once", "take\nthe rest"},
		{"with too much before the verdict", long},
		{"with the end before the verdict", "tak"},
		{"with the end and nothing else", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			h := serve(t, Options{}, netip.AddrPort{})
			c := h.enter(t)
			write(t, c, tc.said)
			c.CloseWrite()
			read(t, c, "taken")
			readEnd(t, c)
			if got := <-h.taken; !bytes.Equal(got, []byte(tc.said)) {
				t.Errorf("got %d bytes of %d", len(got), len(tc.said))
			}
		})
	}
}

func TestServeRefuse(t *testing.T) {
	h := serve(t, Options{}, netip.AddrPort{})
	c := h.enter(t)
	write(t, c, "refuse\n")
	readReset(t, c)
}

func TestServeDialFails(t *testing.T) {
	l := listen(t)
	nobody := l.Addr().(*net.TCPAddr).AddrPort()
	l.Close()
	h := serve(t, Options{}, nobody)
	c := h.enter(t)
	write(t, c, "relay\n")
	readReset(t, c)
	if r := h.end(t); !errors.Is(r.err, syscall.ECONNREFUSED) || r.Sent != 0 {
		t.Errorf("ended with %+v", r)
	}
}

func TestServeUpload(t *testing.T) {
	h := serve(t, Options{Upload: 8}, netip.AddrPort{})
	c := h.enter(t)
	write(t, c, "relay\nab")
	o := h.accept(t)
	read(t, o, "relay\nab")
	write(t, c, "c")
	readReset(t, o)
	if r := h.end(t); r.err != ErrBudget || r.Sent != 8 {
		t.Errorf("ended with %+v", r)
	}
	c = h.enter(t)
	write(t, c, "relay\nabc")
	readReset(t, c)
	if r := h.end(t); r.err != ErrBudget || r.Sent != 0 {
		t.Errorf("ended with %+v", r)
	}
}

// serveAll gives all connections the same verdict, without a byte from them.
func serveAll(t *testing.T, s Service) (*Engine, *net.TCPAddr) {
	t.Helper()
	e := newEngine(t)
	l := listen(t)
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fd, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Serve(fd, s); err != nil {
		t.Fatal(err)
	}
	return e, l.Addr().(*net.TCPAddr)
}

// An origin that speaks first is heard.
func TestServeOriginFirst(t *testing.T) {
	h := &house{origin: listen(t)}
	to := h.origin.Addr().(*net.TCPAddr).AddrPort()
	h.engine, h.addr = serveAll(t, Service{Dial: patience, Decide: func(int, []byte) Verdict {
		return Verdict{Do: Relay, To: to}
	}})
	c := h.enter(t)
	o := h.accept(t)
	write(t, o, "SSH-2.0-origin")
	read(t, c, "SSH-2.0-origin")
	write(t, c, "SSH-2.0-client")
	read(t, o, "SSH-2.0-client")
}

func TestServePatience(t *testing.T) {
	h := &house{}
	var asked atomic.Int32
	h.engine, h.addr = serveAll(t, Service{Patience: 100 * time.Millisecond, Decide: func(int, []byte) Verdict {
		asked.Add(1)
		return Verdict{Do: Wait}
	}})
	c := h.enter(t)
	go func() { // drop by drop does not help
		for range 1000 {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	readReset(t, c)
	if asked.Load() < 2 {
		t.Error("not asked again")
	}
}

// mute is an origin that does not answer: its queue on loopback is full. accept
// makes room for the next one.
func mute(t *testing.T) (to netip.AddrPort, accept func() int) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	to = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(name.(*syscall.SockaddrInet4).Port))
	full, err := net.Dial("tcp", to.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { full.Close() })
	return to, func() int {
		c, _, err := syscall.Accept4(fd, syscall.SOCK_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { syscall.Close(c) })
		return c
	}
}

func TestServeDialTime(t *testing.T) {
	to, _ := mute(t)
	for _, said := range []string{"", "hello"} {
		h := &house{ended: make(chan report, 1)}
		h.engine, h.addr = serveAll(t, Service{Dial: 100 * time.Millisecond, Decide: func(_ int, first []byte) Verdict {
			if string(first) != said {
				return Verdict{Do: Wait}
			}
			return Verdict{Do: Relay, To: to, Options: Options{Idle: patience}, Ended: func(n Counts, err error) { h.ended <- report{n, err} }}
		}})
		c := h.enter(t)
		write(t, c, said)
		readReset(t, c)
		if r := h.end(t); r.err != ErrDial || r.Sent != 0 {
			t.Errorf("%q ended with %+v", said, r)
		}
	}
}

// A client that ends before the origin has answered still hears it.
func TestServeEndWhileDialling(t *testing.T) {
	to, accept := mute(t)
	h := &house{}
	dialled := make(chan struct{})
	h.engine, h.addr = serveAll(t, Service{Dial: patience, Decide: func(int, []byte) Verdict {
		close(dialled)
		return Verdict{Do: Relay, To: to}
	}})
	c := h.enter(t)
	<-dialled
	c.CloseWrite()
	accept() // the one that filled the queue
	o := accept()
	if _, err := syscall.Write(o, []byte("banner")); err != nil {
		t.Fatal(err)
	}
	read(t, c, "banner")
	if n, err := syscall.Read(o, make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("origin read %d, %v; want the end", n, err)
	}
}

// With a bound on connections, more are served when others have ended.
func TestServeMax(t *testing.T) {
	h := &house{origin: listen(t)}
	to := h.origin.Addr().(*net.TCPAddr).AddrPort()
	var inside, most atomic.Int32
	h.engine, h.addr = serveAll(t, Service{Max: 3, Decide: func(int, []byte) Verdict {
		most.Store(max(most.Load(), inside.Add(1)))
		return Verdict{Do: Relay, To: to, Ended: func(Counts, error) { inside.Add(-1) }}
	}})
	clients := map[string]*net.TCPConn{}
	for i := range 12 {
		name := string(rune('a' + i))
		clients[name] = h.enter(t)
		write(t, clients[name], name)
	}
	for range clients { // whoever comes first
		o := h.accept(t)
		name := make([]byte, 1)
		if _, err := io.ReadFull(o, name); err != nil {
			t.Fatal(err)
		}
		clients[string(name)].Close()
		o.Close()
	}
	if most.Load() > 3 {
		t.Errorf("%d were served at once", most.Load())
	}
}

func TestServeClose(t *testing.T) {
	h := serve(t, Options{}, netip.AddrPort{})
	waiting, busy := h.enter(t), h.enter(t)
	write(t, waiting, "rel")
	write(t, busy, "relay\n")
	read(t, h.accept(t), "relay\n")
	h.engine.Close()
	readReset(t, waiting)
	readReset(t, busy)
	if r := h.end(t); r.err != ErrClosed {
		t.Errorf("ended with %+v", r)
	}
	if c, err := net.DialTCP("tcp", nil, h.addr); err == nil {
		c.Close()
		t.Error("the listener is still there")
	}
}

// A client that comes when there is no descriptor for it is served later.
func TestServeNoDescriptors(t *testing.T) {
	h := serve(t, Options{}, netip.AddrPort{})
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	relief := exhaust(t)
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: h.addr.Port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Write(fd, []byte("relay\n")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(50 * time.Millisecond) // for the accept to fail; if it comes later, the test proves less
	relief()
	read(t, h.accept(t), "relay\n")
}

func TestServeNoLeak(t *testing.T) {
	h := serve(t, Options{}, netip.AddrPort{})
	before := descriptors(t)
	for i := range 1000 {
		c, err := net.DialTCP("tcp", nil, h.addr)
		if err != nil {
			t.Fatal(err)
		}
		c.SetDeadline(time.Now().Add(patience))
		switch i % 4 {
		case 0:
			write(t, c, "refuse\n")
			readReset(t, c)
		case 1:
			write(t, c, "take\n")
			c.CloseWrite()
			<-h.taken
		case 2:
			c.SetLinger(0)
		case 3:
			write(t, c, "relay\n")
			o, err := h.origin.AcceptTCP()
			if err != nil {
				t.Fatal(err)
			}
			read(t, o, "relay\n")
			o.Close()
			readEnd(t, c)
		}
		c.Close()
	}
	spent(t, before)
}
