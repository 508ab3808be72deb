package far

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// playedNear is a far end whose near end is the test.
func playedNear(t *testing.T) (*link.Link, *there) {
	t.Helper()
	a, b, err := sockets()
	if err != nil {
		t.Fatal(err)
	}
	near := link.New(a, link.Near, link.Options{})
	far := &there{link: link.New(b, link.Far, link.Options{})}
	t.Cleanup(func() { near.Close(); far.link.Close() })
	return near, far
}

func open(t *testing.T, l *link.Link, h link.Header, data ...[]byte) *link.Stream {
	t.Helper()
	s, err := l.Open(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range data {
		s.Write(b)
	}
	if data != nil {
		s.CloseWrite()
	}
	return s
}

// TestWrongBeginning: a far end starts nothing unless control, a whole plan and the
// descriptors of the agent come, in this order.
func TestWrongBeginning(t *testing.T) {
	head, contents, err := plan.Encode(aPlan(0))
	if err != nil {
		t.Fatal(err)
	}
	whole := append([][]byte{head}, contents...)
	tell := func(l *link.Link, h link.Header, data ...[]byte) {
		if s, err := l.Open(h); err == nil { // it may have heard enough
			for _, b := range data {
				s.Write(b)
			}
			if data != nil {
				s.CloseWrite()
			}
		}
	}
	for name, say := range map[string]func(*link.Link){
		"the plan first":    func(l *link.Link) { tell(l, link.Plan{}, whole...) },
		"no plan":           func(l *link.Link) { tell(l, link.Control{}); tell(l, link.Dial{Port: 80}) },
		"half a plan":       func(l *link.Link) { tell(l, link.Control{}); tell(l, link.Plan{}, head[:len(head)/2]) },
		"more than a plan":  func(l *link.Link) { tell(l, link.Control{}); tell(l, link.Plan{}, append(whole, []byte("x"))...) },
		"a plan of nothing": func(l *link.Link) { tell(l, link.Control{}); tell(l, link.Plan{}, []byte("{}")) },
		"another stream": func(l *link.Link) {
			tell(l, link.Control{})
			tell(l, link.Plan{}, whole...)
			tell(l, link.Dial{Port: 80})
		},
		"of another process": func(l *link.Link) {
			tell(l, link.Control{})
			tell(l, link.Plan{}, whole...)
			for _, of := range stdio {
				tell(l, link.Stdio{Process: 1, Of: of})
			}
		},
		"the same one": func(l *link.Link) {
			tell(l, link.Control{})
			tell(l, link.Plan{}, whole...)
			for range stdio {
				tell(l, link.Stdio{Of: link.Stdin})
			}
		},
		"the end": func(l *link.Link) { tell(l, link.Control{}); l.Close() },
	} {
		near, far := playedNear(t)
		var said sync.WaitGroup
		said.Go(func() { say(near) })
		if p, err := far.receive(); err == nil {
			t.Errorf("%s: it would start %+v", name, p)
		}
		near.Close()
		said.Wait()
	}
}

// TestBeforeTheSandbox: what is asked of a far end that has no sandbox yet is refused, and
// the link goes on.
func TestBeforeTheSandbox(t *testing.T) {
	near, far := playedNear(t)
	far.stdio = map[link.Stdio]*link.Stream{}
	go far.attend()
	if _, err := ask(near, link.Ask{What: link.Freeze}, patience); err == nil {
		t.Error("nothing was frozen")
	}
	n := &network{link: near}
	if c, err := n.Dial(80); err == nil {
		t.Errorf("%v was reached", c.RemoteAddr())
	}
	if ports := n.Listening(); ports != nil {
		t.Errorf("%v listen", ports)
	}
	s := open(t, near, link.Exec{Process: 1, Command: wire.Command{Argv: [][]byte{[]byte("true")}, Env: [][]byte{}}})
	if m, err := link.Receive(s); err != nil || m.Kind != wire.Failed {
		t.Errorf("%+v, %v", m, err)
	}
	for _, h := range []link.Header{link.Overlay{}, link.Control{}} {
		s := open(t, near, h)
		if _, err := io.ReadAll(s); err == nil {
			t.Errorf("%T was taken", h)
		}
	}
	if _, err := (&sandbox{link: near}).Put("/w/x", []byte("A=phantom")); err == nil {
		t.Error("a file was put into nothing")
	}
	if err := near.Err(); err != nil {
		t.Error(err)
	}
}

// TestSource: the end of a process tells how much it had printed, also while others still
// print to the same.
func TestSource(t *testing.T) {
	near, far := playedNear(t)
	at := open(t, near, link.Stdio{Process: 1, Of: link.Stdout})
	s, err := far.link.Accept()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	d := &descriptors{prints: map[string]*source{link.Stdout: newSource(r, s)}}
	text := strings.Repeat("printed ", 1000)
	io.WriteString(w, text)
	m := d.ended(rung.Exit{Killed: true}, nil)
	if m.Printed == nil || m.Printed.Out != int64(len(text)) || m.Status != 9 {
		t.Errorf("%+v, %+v", m, m.Printed)
	}
	io.WriteString(w, "later")
	w.Close()
	if b, err := io.ReadAll(at); string(b) != text+"later" || err != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// Layers of a sandbox that has not ended are handed over as such, and an error comes back.
func TestLeaveLayers(t *testing.T) {
	no := errors.New("no")
	var said []bool
	f := &there{over: make(chan struct{}), Stay: Stay{Left: func(_ []string, ended bool) error { said = append(said, ended); return no }}}
	first := f.leaveLayers()
	close(f.over)
	if second := f.leaveLayers(); first != no || second != no || !slices.Equal(said, []bool{false, true}) {
		t.Error(first, second, said)
	}
}
