package carrier

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

var secret = []byte("a secret of thirty-two bytes ....")

// pair is two ends, and how often each heard of a loss and of the way back.
type pair struct {
	near, far  *Carrier
	lost, back [2]int
	mu         sync.Mutex
}

func newPair(t *testing.T, keep time.Duration) *pair {
	t.Helper()
	p := &pair{near: New(Near, secret, time.Minute), far: New(Far, secret, time.Minute)}
	t.Cleanup(func() { p.near.Close(); p.far.Close() })
	p.join(t)
	for i, c := range []*Carrier{p.near, p.far} {
		count := func(n *[2]int) func() {
			return func() { p.mu.Lock(); defer p.mu.Unlock(); n[i]++ }
		}
		c.Last(keep, count(&p.lost), count(&p.back))
	}
	return p
}

// join connects the two, and returns what ends that.
func (p *pair) join(t *testing.T) (cut func()) {
	t.Helper()
	a, b := net.Pipe()
	accepted := make(chan error, 1)
	go func() {
		_, err := p.far.Accept(b)
		accepted <- err
	}()
	if err := errors.Join(p.near.Join(a), <-accepted); err != nil {
		t.Fatal(err)
	}
	return func() { a.Close() }
}

// Whenever the connection breaks, all comes once and in order, in both directions.
func TestNothingLostOrTwice(t *testing.T) {
	p := newPair(t, time.Hour)
	r := rand.New(rand.NewPCG(1, 2))
	const size = 3*Window + 12345
	var all sync.WaitGroup
	done := make(chan struct{})
	for _, way := range [][2]*Carrier{{p.near, p.far}, {p.far, p.near}} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		all.Go(func() {
			for rest := data; len(rest) > 0; {
				n := min(len(rest), 70001)
				if _, err := way[0].Write(rest[:n]); err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
		})
		all.Go(func() {
			got := make([]byte, size)
			if _, err := io.ReadFull(way[1], got); err != nil || !bytes.Equal(got, data) {
				t.Errorf("another stream came: %v", err)
			}
		})
	}
	go func() { all.Wait(); close(done) }()
	cuts := 0
	for over := false; !over; cuts++ {
		cut := p.join(t) // breaks the one before, wherever it was
		if cuts%3 == 0 {
			cut()
		}
		select {
		case <-done:
			over = true
		default:
		}
	}
	t.Logf("%d connections", cuts)
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.lost {
		if p.lost[i] == 0 || p.lost[i]-p.back[i] < 0 || p.lost[i]-p.back[i] > 1 {
			t.Errorf("lost %v, back %v", p.lost, p.back)
		}
	}
}

// A writer waits when as much is on its way as is kept.
func TestBounded(t *testing.T) {
	p := newPair(t, time.Hour)
	p.join(t)()
	wait.Eventually(t, "the cut is seen", func() bool { p.near.drop(p.near.conn0(), io.ErrClosedPipe); return p.near.Cut() })
	wrote := make(chan int, 1)
	go func() {
		n, _ := p.near.Write(make([]byte, Window+1))
		wrote <- n
	}()
	wait.Eventually(t, "the buffer is full", func() bool {
		p.near.mu.Lock()
		defer p.near.mu.Unlock()
		return p.near.out.free() == 0
	})
	p.near.Close()
	if n := <-wrote; n != Window {
		t.Errorf("%d bytes were taken", n)
	}
}

func (c *Carrier) conn0() *conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		return newConn(struct{ io.ReadWriteCloser }{nopCloser{}})
	}
	return c.conn
}

type nopCloser struct{ bytes.Buffer }

func (nopCloser) Read([]byte) (int, error)  { return 0, io.EOF }
func (nopCloser) Write([]byte) (int, error) { return 0, io.EOF }
func (nopCloser) Close() error              { return nil }

// An end that closes it is the end of the other one; a loss is, when nobody comes back.
func TestEnds(t *testing.T) {
	t.Run("closed", func(t *testing.T) {
		p := newPair(t, time.Hour)
		go p.near.Close()
		if _, err := p.far.Read(make([]byte, 1)); !errors.Is(err, io.EOF) || p.lost[1] != 0 {
			t.Errorf("%v, lost %v", err, p.lost)
		}
	})
	t.Run("parted", func(t *testing.T) {
		p := newPair(t, time.Hour)
		go p.near.Part()
		if _, err := p.far.Read(make([]byte, 1)); !errors.Is(err, ErrLost) || p.lost[1] != 0 {
			t.Errorf("%v, lost %v", err, p.lost)
		}
	})
	for name, keep := range map[string]time.Duration{"not kept": 0, "kept": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, keep)
			p.far.conn0().Close()
			for _, c := range []*Carrier{p.near, p.far} {
				if _, err := c.Read(make([]byte, 1)); !errors.Is(err, ErrLost) {
					t.Error(err)
				}
			}
			a, b := net.Pipe()
			go p.far.Accept(b)
			if err := p.near.Join(a); err == nil {
				t.Error("one that has ended goes on")
			}
		})
	}
	t.Run("before it lasts", func(t *testing.T) {
		p := &pair{near: New(Near, secret, time.Minute), far: New(Far, secret, time.Minute)}
		p.join(t)()
		if _, err := p.far.Read(make([]byte, 1)); !errors.Is(err, ErrLost) {
			t.Error(err)
		}
	})
}

// A connection that takes the place of one that is still there is no loss.
func TestReplaced(t *testing.T) {
	p := newPair(t, time.Hour)
	for range 3 {
		p.join(t)
	}
	go p.near.Write([]byte("x"))
	if _, err := p.far.Read(make([]byte, 1)); err != nil || p.lost != [2]int{} || p.back != [2]int{} {
		t.Errorf("%v, lost %v, back %v", err, p.lost, p.back)
	}
}

// A machine that lets nobody prove anything is a loss, once.
func TestLapsed(t *testing.T) {
	p := newPair(t, time.Hour)
	for range 2 {
		a, b := net.Pipe()
		go func() { // hears the first two messages, and says no more
			other := New(Far, secret, time.Minute)
			said := &transcript{secret: secret, said: make([]byte, len(magic)+1+nonceSize)}
			io.ReadFull(b, said.said)
			said.tell(b, Far, nonce())
			io.ReadFull(b, make([]byte, 8+macSize))
			b.Close()
			other.Close()
		}()
		if err := p.near.Join(a); err == nil || !p.near.Cut() {
			t.Fatal(err)
		}
	}
	if p.lost[0] != 1 || p.back[0] != 0 {
		t.Errorf("lost %v, back %v", p.lost, p.back)
	}
}

// Who does not know the secret takes nobody's place, on either side.
func TestStranger(t *testing.T) {
	p := newPair(t, time.Hour)
	other := New(Near, []byte("another secret"), time.Minute)
	a, b := net.Pipe()
	refused := make(chan error, 1)
	go func() {
		_, err := p.far.Accept(b)
		refused <- err
	}()
	if err := other.Join(a); !errors.Is(err, ErrStranger) {
		t.Errorf("a far end with another secret: %v", err)
	}
	if err := <-refused; err == nil {
		t.Error("a stranger came in")
	}
	// One that lets the far end prove itself, and sends a proof of its own making.
	a, b = net.Pipe()
	go func() {
		_, err := p.far.Accept(b)
		refused <- err
	}()
	a.Write(append(append([]byte(magic), byte(GoOn)), make([]byte, nonceSize)...))
	io.ReadFull(a, make([]byte, nonceSize+macSize))
	go a.Write(make([]byte, 8+macSize))
	if err := <-refused; !errors.Is(err, ErrStranger) {
		t.Errorf("a proof of its own making: %v", err)
	}
	if p.far.Cut() || p.near.Cut() || p.lost[1] != 0 {
		t.Error("the connection was given up for it")
	}
}

// What was proved to one connection proves nothing to another.
func TestReplayed(t *testing.T) {
	p := newPair(t, time.Hour)
	var said bytes.Buffer
	a, b := net.Pipe()
	go p.far.Accept(b)
	if err := p.near.Join(tap{a, &said}); err != nil {
		t.Fatal(err)
	}
	a, b = net.Pipe()
	refused := make(chan error, 1)
	go func() {
		_, err := p.far.Accept(b)
		refused <- err
	}()
	go io.Copy(io.Discard, a)
	a.Write(said.Bytes())
	if err := <-refused; !errors.Is(err, ErrStranger) {
		t.Error(err)
	}
}

type tap struct {
	io.ReadWriteCloser
	said *bytes.Buffer
}

func (t tap) Write(b []byte) (int, error) {
	if t.said.Len() < len(magic)+1+nonceSize+8+macSize {
		t.said.Write(b)
	}
	return t.ReadWriteCloser.Write(b)
}

// Who knows the secret can tell it to leave, and that is told from going on.
func TestDismiss(t *testing.T) {
	p := newPair(t, time.Hour)
	a, b := net.Pipe()
	why := make(chan Purpose, 1)
	go func() {
		w, err := p.far.Accept(b)
		if err != nil {
			t.Error(err)
		}
		why <- w
	}()
	if err := Dismiss(a, secret); err != nil || <-why != Leave {
		t.Error(err)
	}
}

// An end of which nothing is heard loses its connection.
func TestSilent(t *testing.T) {
	near, far := New(Near, secret, time.Millisecond), New(Far, secret, time.Hour)
	a, b := net.Pipe()
	go far.Accept(b)
	if err := near.Join(a); err != nil {
		t.Fatal(err)
	}
	lost := make(chan struct{})
	near.Last(time.Hour, func() { close(lost) }, func() {})
	go near.Read(make([]byte, 1))
	go far.Read(make([]byte, 1))
	<-lost
	near.Close()
	far.Close()
}
