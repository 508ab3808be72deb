package relay

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

// link is a pair that is being relayed, seen from its two ends.
type link struct {
	client, origin *net.TCPConn
	ended          chan struct{}
	counts         Counts
	err            error
}

func (k *link) wait(t *testing.T) {
	t.Helper()
	select {
	case <-k.ended:
	case <-time.After(wait.Patience):
		t.Fatal("the pair does not end")
	}
}

// newEngine has two threads, whatever the machine.
func newEngine(t testing.TB) *Engine {
	t.Helper()
	e, err := start(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// dialled returns the two ends of a connection. Who else comes to the listener, from
// another test on this machine that takes the port for a free one, is not an end of it.
func dialled(t testing.TB) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err = net.DialTCP("tcp", nil, l.Addr().(*net.TCPAddr))
	if err != nil {
		t.Fatal(err)
	}
	for far == nil || far.RemoteAddr().String() != near.LocalAddr().String() {
		if far != nil {
			far.Close()
		}
		if far, err = l.AcceptTCP(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*net.TCPConn{near, far} {
		t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(wait.Patience))
	}
	return near, far
}

// relayed starts a pair.
func relayed(t testing.TB, e *Engine, o Options) *link {
	t.Helper()
	k := &link{ended: make(chan struct{})}
	var c, s *net.TCPConn
	k.client, c = dialled(t)
	s, k.origin = dialled(t)
	go func() {
		defer close(k.ended)
		k.counts, k.err = e.Pair(c, s, o)
	}()
	return k
}

func write(t *testing.T, c io.Writer, s string) {
	t.Helper()
	if _, err := io.WriteString(c, s); err != nil {
		t.Fatal(err)
	}
}

// read expects exactly s.
func read(t *testing.T, c io.Reader, s string) {
	t.Helper()
	b := make([]byte, len(s))
	if _, err := io.ReadFull(c, b); err != nil || string(b) != s {
		t.Fatalf("read %q, %v; want %q", b, err, s)
	}
}

// readEnd expects the end of the stream.
func readEnd(t *testing.T, c io.Reader) {
	t.Helper()
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Fatalf("read %d bytes, %v; want the end", n, err)
	}
}

// readReset expects a reset, after whatever else there is.
func readReset(t *testing.T, c io.Reader) {
	t.Helper()
	if _, err := io.Copy(io.Discard, c); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("read: %v; want a reset", err)
	}
}

func TestHalfClose(t *testing.T) {
	for _, tc := range []struct {
		name string
		ends func(*link) (first, second *net.TCPConn)
	}{
		{"client first", func(k *link) (*net.TCPConn, *net.TCPConn) { return k.client, k.origin }},
		{"origin first", func(k *link) (*net.TCPConn, *net.TCPConn) { return k.origin, k.client }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			k := relayed(t, newEngine(t), Options{})
			first, second := tc.ends(k)
			write(t, first, "last words")
			first.CloseWrite()
			read(t, second, "last words")
			readEnd(t, second)
			write(t, second, "still here")
			read(t, first, "still here")
			write(t, second, "and gone")
			second.CloseWrite()
			read(t, first, "and gone")
			readEnd(t, first)
			k.wait(t)
			if k.err != nil || k.counts.Sent+k.counts.Received != 28 {
				t.Fatalf("ended with %+v, %v", k.counts, k.err)
			}
		})
	}
}

func TestReset(t *testing.T) {
	for _, tc := range []struct {
		name string
		ends func(*link) (from, to *net.TCPConn)
	}{
		{"client", func(k *link) (*net.TCPConn, *net.TCPConn) { return k.client, k.origin }},
		{"origin", func(k *link) (*net.TCPConn, *net.TCPConn) { return k.origin, k.client }},
	} {
		for _, half := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				k := relayed(t, newEngine(t), Options{})
				from, to := tc.ends(k)
				write(t, from, "hello")
				read(t, to, "hello")
				if half { // a reset after the end of its own direction
					from.CloseWrite()
					readEnd(t, to)
				}
				from.SetLinger(0)
				from.Close()
				if !half {
					readReset(t, to)
				}
				k.wait(t)
				if k.err == nil {
					t.Fatal("ended without an error")
				}
			})
		}
	}
}

// A reset also ends a pair that is stuck because the other side takes nothing.
func TestResetWhileStuck(t *testing.T) {
	k := relayed(t, newEngine(t), Options{})
	stuff(t, k.client)
	k.client.SetLinger(0)
	k.client.Close()
	k.wait(t)
	if k.err == nil {
		t.Fatal("ended without an error")
	}
}

// A reset that comes right behind the end of its direction, before the loop looks, ends
// the pair too: no other event would tell of it.
func TestResetBehindEnd(t *testing.T) {
	for _, side := range []int{client, origin} {
		var near, far [2]*net.TCPConn
		for i := range near {
			near[i], far[i] = dialled(t)
		}
		near[side].CloseWrite()
		readEnd(t, far[side]) // it is there, and so is all that comes after it on loopback
		near[side].SetLinger(0)
		near[side].Close()
		k := &link{ended: make(chan struct{})}
		e := newEngine(t)
		go func() {
			defer close(k.ended)
			k.counts, k.err = e.Pair(far[client], far[origin], Options{})
		}()
		k.wait(t)
		if k.err == nil {
			t.Errorf("side %d: ended without an error", side)
		}
	}
}

// stuff writes until nothing is taken for a while, and returns how much it wrote.
func stuff(t *testing.T, c *net.TCPConn) (total int64) {
	t.Helper()
	block := make([]byte, 64<<10)
	for {
		c.SetWriteDeadline(time.Now().Add(300 * time.Millisecond))
		n, err := c.Write(block)
		total += int64(n)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			c.SetWriteDeadline(time.Now().Add(wait.Patience))
			return total
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// The relay takes no more than the sockets and one pipe hold, and goes on when it
// can.
func TestBackpressure(t *testing.T) {
	e := newEngine(t)
	k := relayed(t, e, Options{})
	k.client.SetWriteBuffer(64 << 10)
	k.origin.SetReadBuffer(64 << 10)
	total := stuff(t, k.client)
	for _, l := range e.loops {
		l.mu.Lock()
		for _, p := range l.slots {
			if p != nil && p.flows[client].size > large {
				t.Errorf("the flow holds %d bytes", p.flows[client].size)
			}
		}
		l.mu.Unlock()
	}
	k.client.CloseWrite()
	if n, err := io.Copy(io.Discard, k.origin); n != total || err != nil {
		t.Fatalf("origin got %d bytes of %d, %v", n, total, err)
	}
	k.origin.Close()
	k.wait(t)
	if k.err != nil || k.counts.Sent != total {
		t.Fatalf("ended with %+v, %v", k.counts, k.err)
	}
}

// pour writes size random bytes in random pieces, ends, and returns their hash.
func pour(c *net.TCPConn, size int, r *rand.Rand) (sum [32]byte, err error) {
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for rest := data; len(rest) > 0 && err == nil; {
		n := min(len(rest), 1+r.IntN(1<<r.IntN(19)))
		_, err = c.Write(rest[:n])
		rest = rest[n:]
	}
	c.CloseWrite()
	return sha256.Sum256(data), err
}

// drain reads in random pieces to the end.
func drain(c *net.TCPConn, r *rand.Rand) (sum []byte, err error) {
	h := sha256.New()
	b := make([]byte, 256<<10)
	for err == nil {
		var n int
		n, err = c.Read(b[:1+r.IntN(1<<r.IntN(18))])
		h.Write(b[:n])
	}
	if err == io.EOF {
		err = nil
	}
	return h.Sum(nil), err
}

func TestIntegrity(t *testing.T) {
	e := newEngine(t)
	var wg sync.WaitGroup
	for i := range uint64(24) {
		r := rand.New(rand.NewPCG(3, i))
		first := make([]byte, r.IntN(20000))
		k := relayed(t, e, Options{First: first})
		for dir, ends := range [][2]*net.TCPConn{{k.client, k.origin}, {k.origin, k.client}} {
			sums := make(chan [32]byte, 1)
			size := r.IntN(1 << (4 + r.IntN(19)))
			w, rd := rand.New(rand.NewPCG(4, r.Uint64())), rand.New(rand.NewPCG(5, r.Uint64()))
			wg.Go(func() {
				sum, err := pour(ends[0], size, w)
				if err != nil {
					t.Error(err)
				}
				sums <- sum
			})
			wg.Go(func() {
				if dir == 0 {
					got := make([]byte, len(first))
					if _, err := io.ReadFull(ends[1], got); err != nil || !bytes.Equal(got, first) {
						t.Error("the first bytes are not the first", err)
					}
				}
				got, err := drain(ends[1], rd)
				if want := <-sums; err != nil || !bytes.Equal(got, want[:]) {
					t.Errorf("pair %d, direction %d, %d bytes: not the same, %v", i, dir, size, err)
				}
			})
		}
		wg.Go(func() { <-k.ended })
	}
	wg.Wait()
}

func TestIdle(t *testing.T) {
	e := newEngine(t)
	other := relayed(t, e, Options{})
	k := relayed(t, e, Options{Idle: time.Millisecond})
	k.wait(t)
	if k.err != ErrIdle {
		t.Fatalf("ended with %v", k.err)
	}
	readReset(t, k.client)
	readReset(t, k.origin)
	write(t, other.client, "not idle by its own measure")
	read(t, other.origin, "not idle by its own measure")
}

// TestBusyIsNotIdle serves a loop by hand, and by its own clock.
func TestBusyIsNotIdle(t *testing.T) {
	l, err := newLoop()
	if err != nil {
		t.Fatal(err)
	}
	defer l.shut()
	near, c := dialled(t)
	o, far := dialled(t)
	cfd, cerr := detach(c)
	ofd, oerr := detach(o)
	p := newPair(cfd, ofd, Options{Idle: time.Hour})
	if err := errors.Join(cerr, oerr, l.enter(p)); err != nil {
		t.Fatal(err)
	}
	later := func(d time.Duration) { l.start = l.start.Add(-d) }
	for _, way := range [][2]*net.TCPConn{{near, far}, {far, near}, {near, far}} {
		later(50 * time.Minute)
		write(t, way[0], "x")
		for moved := p.counts(); p.counts() == moved && !p.over; {
			l.serve()
		}
		if p.over {
			t.Fatalf("ended with %v though bytes came", p.failure)
		}
		read(t, way[1], "x")
	}
	for _, d := range []time.Duration{50 * time.Minute, 11 * time.Minute} {
		if p.over {
			t.Fatal("ended before its time")
		}
		later(d)
		syscall.Write(l.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0}) // nothing else wakes it
		l.serve()
	}
	if !p.over || p.failure != ErrIdle {
		t.Errorf("after an hour and a minute: %v, %v", p.over, p.failure)
	}
}

func TestClose(t *testing.T) {
	e := newEngine(t)
	links := []*link{relayed(t, e, Options{}), relayed(t, e, Options{}), relayed(t, e, Options{})}
	for _, k := range links {
		write(t, k.client, "x")
		read(t, k.origin, "x")
	}
	stuff(t, links[0].origin)
	e.Close()
	links = append(links, relayed(t, e, Options{First: []byte("too late")}))
	for _, k := range links {
		k.wait(t)
		if k.err != ErrClosed {
			t.Errorf("ended with %v", k.err)
		}
		readReset(t, k.client)
	}
	e.Close()
}

// descriptors counts those of the process.
func descriptors(t *testing.T) int {
	t.Helper()
	d, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(d)
}

// spent waits until there are no more than n descriptors.
func spent(t *testing.T, n int) {
	t.Helper()
	if !wait.For(func() bool { return descriptors(t) <= n }) {
		t.Fatalf("%d descriptors are open, %d were before", descriptors(t), n)
	}
}

func TestNoLeak(t *testing.T) {
	before := descriptors(t)
	e, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		k := relayed(t, e, Options{})
		switch i % 4 {
		case 0: // bulk, through a pipe
			go func() {
				k.origin.Write(make([]byte, 200<<10))
				k.origin.Close()
			}()
			io.Copy(io.Discard, k.client)
		case 1: // ends with bytes in a pipe
			go k.origin.Write(make([]byte, 8<<20))
			io.CopyN(io.Discard, k.client, 100<<10)
			k.client.SetLinger(0)
		case 2:
			k.origin.SetLinger(0)
		}
		k.client.Close()
		k.origin.Close()
		k.wait(t)
	}
	e.Close()
	spent(t, before)
}

// An idle pair has no buffer, no pipe and no thread.
func TestManyIdle(t *testing.T) {
	const many = 500
	e := newEngine(t)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fds := descriptors(t)
	var links []*link
	for range many {
		k := relayed(t, e, Options{Idle: time.Hour})
		write(t, k.client, "question")
		read(t, k.origin, "question")
		write(t, k.origin, "answer")
		read(t, k.client, "answer")
		links = append(links, k)
	}
	go links[0].origin.Write(make([]byte, 4<<20))
	io.CopyN(io.Discard, links[0].client, 4<<20)
	if n := descriptors(t) - fds; n > many*4+2*2*spares+8 {
		t.Errorf("%d descriptors for %d pairs and their ends", n, many)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse+after.StackInuse) - int64(before.HeapInuse+before.StackInuse); grown > 12<<20 {
		t.Errorf("%d idle pairs take %d KiB", many, grown>>10)
	}
	for _, k := range links {
		k.client.Close()
		k.origin.Close()
		k.wait(t)
	}
}

// Without descriptors for pipes, bulk goes through buffers.
func TestNoDescriptors(t *testing.T) {
	e := newEngine(t)
	k := relayed(t, e, Options{})
	write(t, k.client, "x")
	read(t, k.origin, "x")
	exhaust(t)
	data := make([]byte, 8<<20)
	rand.NewChaCha8([32]byte{7}).Read(data)
	go func() {
		k.origin.Write(data)
		k.origin.CloseWrite()
	}()
	if got, err := io.ReadAll(k.client); err != nil || !bytes.Equal(got, data) {
		t.Fatalf("got %d bytes of %d, %v", len(got), len(data), err)
	}
}

// exhaust leaves no descriptor to open until the test is over.
func exhaust(t *testing.T) (relief func()) {
	t.Helper()
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	relief = sync.OnceFunc(func() { syscall.Setrlimit(syscall.RLIMIT_NOFILE, &old) })
	t.Cleanup(relief)
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 0, Max: old.Max}); err != nil {
		t.Fatal(err)
	}
	return relief
}

// What a pair left in its pipe never reaches another one.
func TestNoCrossTalk(t *testing.T) {
	e := newEngine(t)
	for range 20 {
		k := relayed(t, e, Options{})
		go k.origin.Write(bytes.Repeat([]byte("secret"), 1<<20))
		io.CopyN(io.Discard, k.client, 300<<10)
		k.client.SetLinger(0)
		k.client.Close()
		k.wait(t)

		other := relayed(t, e, Options{})
		data := make([]byte, 2<<20)
		go func() {
			other.origin.Write(data)
			other.origin.Close()
		}()
		if got, err := io.ReadAll(other.client); err != nil || !bytes.Equal(got, data) {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
		other.client.Close()
		other.wait(t)
	}
}
