package link

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// books: every byte of a window is somewhere, and once.
func books(t *testing.T, s *Stream) {
	t.Helper()
	if sum := s.in.size + s.left + s.used + s.grant; sum != s.window {
		t.Errorf("%d wait, %d may come, %d are read, %d are granted: %d of a window of %d", s.in.size, s.left, s.used, s.grant, sum, s.window)
	}
}

// TestWhatTheOutletTakesPassesTheRing: and what it does not take waits there, in its order, with
// all that follows.
func TestWhatTheOutletTakesPassesTheRing(t *testing.T) {
	l := still(Near)
	l.feed([]byte(prefaces[Far]))
	l.feed(openFrame(2, web))
	s := accept(t, l)
	got := map[uint32][]byte{}
	s.outlet = taker(8, 2, got)
	for _, frames := range [][]byte{
		join(dataFrame(2, "abc"), dataFrame(2, "def")),     // six are taken
		join(dataFrame(2, "ghijkl"), dataFrame(2, "mnop")), // eight, and two wait
		join(dataFrame(2, "qr"), dataFrame(2, "s")),        // behind them
	} {
		if n, err := l.feed(frames); err != nil || n != len(frames) {
			t.Fatal(n, err)
		}
		books(t, s)
	}
	if want := "abcdefghijklmn"; string(got[2]) != want || s.in.size != 5 {
		t.Errorf("%q passed, want %q; %d wait", got[2], want, s.in.size)
	}
	rest := make([]byte, 9)
	if n, err := s.Read(rest); string(rest[:n]) != "opqrs" || err != nil {
		t.Errorf("%q waits, %v", rest[:n], err)
	}
	books(t, s)
	if l.feed(dataFrame(2, "tu")); string(got[2][14:]) != "tu" {
		t.Error("the ring is empty, and nothing passes it")
	}
}

// TestNothingIsGatheredAfterAViolation: what came before goes its way, and nobody is left
// waiting for it.
func TestNothingIsGatheredAfterAViolation(t *testing.T) {
	for _, wrong := range [][]byte{dataFrame(2, string(make([]byte, Window))), dataFrame(4, "x"), {9}} {
		l := still(Near)
		l.feed([]byte(prefaces[Far]))
		l.feed(openFrame(2, web))
		s := accept(t, l)
		got := map[uint32][]byte{}
		s.outlet = taker(100, 2, got)
		l.feed(join(dataFrame(2, "abc"), wrong, make([]byte, headSize)))
		if l.held != nil || s.reading || string(got[2]) != "abc" {
			t.Errorf("held: %v, reading: %v, %q passed", l.held != nil, s.reading, got[2])
		}
	}
}

// TestWriteToASocket: many streams at once to sockets that are read now and then. What
// arrives is what was sent, and all of it was counted.
func TestWriteToASocket(t *testing.T) {
	near, far := pair(t)
	var all sync.WaitGroup
	for seed := range uint64(24) {
		at, to := opened(t, far, near, web)
		out, in := sockets(t)
		want := fill(seed, 3<<20)
		all.Go(func() {
			for rest, r := want, rand.New(rand.NewPCG(seed, 1)); len(rest) > 0; {
				n := min(len(rest), 1+r.IntN(MaxCopy))
				if _, err := at.Write(rest[:n]); err != nil {
					t.Error(err)
					return
				}
				rest = rest[n:]
			}
			at.CloseWrite()
		})
		all.Go(func() {
			n, err := to.WriteTo(out)
			if err != nil || n != int64(len(want)) {
				t.Errorf("%d bytes written, %v", n, err)
			}
			out.Close()
		})
		all.Go(func() {
			var got bytes.Buffer
			for r := rand.New(rand.NewPCG(seed, 2)); ; {
				if _, err := io.CopyN(&got, in, int64(1+r.IntN(1<<16))); err != nil {
					break
				}
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("%d bytes arrived, %d were sent, or others", got.Len(), len(want))
			}
		})
	}
	all.Wait()
}

// TestAFullSocketStopsNobodyElse: nobody reads what one stream is written to.
func TestAFullSocketStopsNobodyElse(t *testing.T) {
	near, far := pair(t)
	stuckAt, stuck := opened(t, far, near, web)
	out, in := sockets(t)
	ended := make(chan error, 1)
	go func() {
		_, err := stuck.WriteTo(out)
		ended <- err
	}()
	go stuckAt.Write(make([]byte, 4<<20))
	at, to := opened(t, far, near, web)
	other, read := sockets(t)
	go to.WriteTo(other)
	go at.Write(make([]byte, 4<<20))
	if _, err := io.CopyN(io.Discard, read, 4<<20); err != nil {
		t.Fatal(err)
	}
	in.Close() // who reads it no more is heard of
	if err := <-ended; !errors.Is(err, unix.EPIPE) && !errors.Is(err, unix.ECONNRESET) {
		t.Errorf("the write to it ends with %v", err)
	}
}

// TestNothingIsWrittenAfterWriteTo: a stream that is ended while bytes pass lets its writer go
// only once they have.
func TestNothingIsWrittenAfterWriteTo(t *testing.T) {
	near, far := pair(t)
	at, to := opened(t, far, near, web)
	passing, goOn := make(chan struct{}), make(chan struct{})
	returned := make(chan struct{})
	out, _ := sockets(t)
	go func() {
		defer close(returned)
		to.WriteTo(out)
	}()
	at.Write([]byte("x"))
	near.mu.Lock()
	for to.outlet == nil || to.reading || to.in.size > 0 || to.used == 0 { // x has come, and passed
		near.mu.Unlock()
		near.mu.Lock()
	}
	to.outlet = func([][]byte) int {
		close(passing)
		<-goOn
		return 1
	}
	near.mu.Unlock()
	at.Write([]byte("y"))
	<-passing
	to.Reset(Gone)
	select {
	case <-returned:
		t.Fatal("WriteTo has returned, and its bytes still pass")
	default:
	}
	close(goOn)
	<-returned
}
