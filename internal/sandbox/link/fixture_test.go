package link

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The frames of a forger.

func openFrame(id uint32, h Header) []byte {
	b, err := encodeHeader(kinds[h.traits().kind].opener, h)
	if err != nil {
		panic(err)
	}
	return appendFrame(nil, typeOpen, id, b)
}

func dataFrame(id uint32, p string) []byte { return appendFrame(nil, typeData, id, []byte(p)) }

func creditFrame(id, n uint32) []byte {
	return appendFrame(nil, typeCredit, id, binary.BigEndian.AppendUint32(nil, n))
}

func finFrame(id uint32) []byte { return appendFrame(nil, typeFin, id) }

func doneFrame(id uint32) []byte { return appendFrame(nil, typeDone, id) }

func resetFrame(id uint32, why Reset) []byte {
	return appendFrame(nil, typeReset, id, []byte{byte(why)})
}

func join(parts ...[]byte) (all []byte) {
	for _, p := range parts {
		all = append(all, p...)
	}
	return all
}

var web = Conn{Port: "tcp", From: netip.MustParseAddrPort("127.0.0.1:4242"), To: netip.MustParseAddrPort("192.0.2.7:443")}

// sockets is a connected pair of unix sockets.
func sockets(t testing.TB) (*net.UnixConn, *net.UnixConn) {
	t.Helper()
	p, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	var conns [2]*net.UnixConn
	for i, fd := range p {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		conns[i] = c.(*net.UnixConn)
	}
	t.Cleanup(func() { conns[0].Close(); conns[1].Close() })
	return conns[0], conns[1]
}

// pair is two honest ends over unix sockets.
func pair(t testing.TB) (near, far *Link) {
	t.Helper()
	a, b := sockets(t)
	near, far = New(a, Near, Options{}), New(b, Far, Options{})
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// piped is the same over net.Pipe, which a bubble of synctest knows to wait for.
func piped(o Options) (near, far *Link) {
	a, b := net.Pipe()
	return New(a, Near, o), New(b, Far, Options{})
}

// forged is a near end whose far end is the test: what it sends is thrown away.
func forged(t testing.TB) (near *Link, far *net.UnixConn) {
	t.Helper()
	a, b := sockets(t)
	near = New(a, Near, Options{})
	t.Cleanup(func() { near.Close() })
	var drained sync.WaitGroup
	drained.Go(func() { io.Copy(io.Discard, b) })
	t.Cleanup(func() { b.Close(); drained.Wait() })
	return near, b
}

// still is an end that the test moves by hand: it feeds it, and takes what it sends from out.
func still(role Role) *Link { return newLink(role, make([]byte, 0, outSize)) }

// waiting says whether a stream has something to send.
func (l *Link) waiting() bool {
	return l.opens.head < len(l.opens.all) || l.ready[0].head < len(l.ready[0].all) || l.ready[1].head < len(l.ready[1].all)
}

// accept takes the next stream.
func accept(t testing.TB, l *Link) *Stream {
	t.Helper()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// opened is a stream that one end opened, as both ends have it.
func opened(t testing.TB, from, to *Link, h Header) (*Stream, *Stream) {
	t.Helper()
	s, err := from.Open(h)
	if err != nil {
		t.Fatal(err)
	}
	return s, accept(t, to)
}

// noLeak fails if goroutines are left that were not there before.
func noLeak(t testing.TB) func() {
	before := runtime.NumGoroutine()
	return func() {
		t.Helper()
		// What was closed may still be about to return.
		for began := time.Now(); time.Since(began) < time.Minute; {
			if runtime.NumGoroutine() <= before {
				return
			}
			runtime.Gosched()
		}
		b := make([]byte, 64<<10)
		t.Errorf("%d goroutines are left:\n%s", runtime.NumGoroutine()-before, b[:runtime.Stack(b, true)])
	}
}
