package link

import (
	"errors"
	"runtime"
	"testing"
)

// heap is what is in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestMemoryIsBounded: a far end opens all streams, makes every window as large as it gets,
// fills them, and has as many refused as it may.
func TestMemoryIsBounded(t *testing.T) {
	before := heap()
	l := still(Near)
	l.feed([]byte(prefaces[Far]))
	send := func(b []byte) {
		if _, err := l.feed(b); err != nil {
			t.Fatal(err)
		}
		l.out = l.out[:0]
	}
	var all []*Stream
	for range MaxStreams - MaxConns {
		s, err := l.Open(Dial{Port: 80})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	l.out = l.out[:0]
	for n := uint32(1); n <= MaxConns+MaxStreams; n++ {
		send(openFrame(2*n, web))
	}
	for l.accepts.Len() > 0 {
		all = append(all, accept(t, l))
	}
	filler, buf := make([]byte, maxBody), make([]byte, MaxWindow)
	for _, s := range all { // readers that keep up, for as long as a window could grow
		for range 8 {
			for n := s.left; n > 0; n -= min(n, maxBody) {
				send(appendFrame(nil, typeData, s.id, filler[:min(n, maxBody)]))
			}
			s.Read(buf)
			if l.growth < 0 {
				t.Fatal("windows grow without a bound")
			}
		}
	}
	windows := 0
	for _, s := range all { // and then stall
		windows += s.window
		for s.left > 0 {
			send(appendFrame(nil, typeData, s.id, filler[:min(s.left, maxBody)]))
		}
	}
	if want := MaxStreams*Window + Growth; windows != want {
		t.Errorf("the windows have %d bytes in all, want %d", windows, want)
	}
	if got := heap() - before; got > MaxMemory || got < int64(windows) {
		t.Errorf("%d bytes are held, %d are the most", got, MaxMemory)
	}
	for _, s := range all {
		s.Reset(Gone)
	}
	if got := heap() - before; got > MaxMemory-int64(windows) {
		t.Errorf("%d bytes are held by streams that are reset", got)
	}
	for _, s := range all {
		send(resetFrame(s.id, Gone))
	}
	if l.growth != Growth || l.live != [3]int{} {
		t.Errorf("%v streams left, growth %d of %d", l.live, l.growth, Growth)
	}
	runtime.KeepAlive(l)
}

// TestClaimsAllocateNothing: heads that claim the longest body, and no body.
func TestClaimsAllocateNothing(t *testing.T) {
	head := appendFrame(nil, typeData, 1, make([]byte, maxBody))[:headSize]
	l := still(Near)
	l.feed([]byte(prefaces[Far]))
	victim(t, l)
	if n := testing.AllocsPerRun(1000, func() { l.feed(head) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestSmallFramesCostNoMore: a window of single bytes.
func TestSmallFramesCostNoMore(t *testing.T) {
	l := still(Near)
	l.feed([]byte(prefaces[Far]))
	l.feed(openFrame(2, web))
	s := accept(t, l)
	for range Window {
		if _, err := l.feed(dataFrame(2, "x")); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.in.b) != Window {
		t.Errorf("%d bytes are held for %d", len(s.in.b), Window)
	}
}

// TestWhatIsNotReadCounts: a far end that opens, fills and ends streams holds no more memory
// than one that leaves them open, whether or not they are accepted.
func TestWhatIsNotReadCounts(t *testing.T) {
	l := still(Near)
	l.feed([]byte(prefaces[Far]))
	if _, err := l.feed(join(openFrame(2, web), dataFrame(2, "unread"), finFrame(2), resetFrame(2, Gone))); err != nil {
		t.Fatal(err)
	}
	if l.live[Far] != 1 {
		t.Error("a stream that nobody has accepted does not count")
	}
	s := accept(t, l)
	if l.live[Far] != 1 {
		t.Error("a stream that nobody has read does not count")
	}
	s.Read(make([]byte, 6))
	if l.live[Far] != 0 || len(l.streams) != 0 {
		t.Error("a stream that was read still counts")
	}
}

// TestNothingIsHeldAfterAReset: what comes until the far end has heard of it.
func TestNothingIsHeldAfterAReset(t *testing.T) {
	l := still(Near)
	l.feed([]byte(prefaces[Far]))
	s := victim(t, l)[0]
	s.Reset(Gone)
	if _, err := l.feed(appendFrame(nil, typeData, s.id, make([]byte, Window))); err != nil {
		t.Fatal(err)
	}
	if len(s.in.b) != 0 {
		t.Errorf("%d bytes are held", len(s.in.b))
	}
	if _, err := l.feed(dataFrame(s.id, "x")); !errors.Is(err, WindowExceeded) {
		t.Errorf("credit came back for it: %v", err)
	}
}
