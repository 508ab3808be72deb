package supervisor

import (
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// heard is a sandbox of which only signals are asked.
type heard struct {
	rung.Sandbox
	signals []syscall.Signal
}

func (h *heard) Signal(s syscall.Signal) error {
	h.signals = append(h.signals, s)
	return nil
}

// An agent without a terminal that stops as its first act is told of before the launch has
// returned: it is let go on, and the supervisor lives.
func TestStoppedWhileItStarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, box := &live{began: make(chan struct{})}, &heard{}
		go l.stopped()
		synctest.Wait()
		l.box = box
		close(l.began)
		synctest.Wait()
		if len(box.signals) != 1 || box.signals[0] != syscall.SIGCONT {
			t.Errorf("it got %v", box.signals)
		}
	})
}

// slow is a sandbox whose end waits for a far end.
type slow struct {
	rung.Sandbox
	over chan struct{}
}

func (s *slow) Close() error { <-s.over; return nil }
func (s *slow) Cut()         { close(s.over) }

// The first stop waits for what is brought over, and the second one cuts it off.
func TestSecondStopCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &live{box: &slow{over: make(chan struct{})}}
		var ended atomic.Int32
		for want := range int32(2) {
			if ended.Load() != 0 {
				t.Error("the first one cuts")
			}
			go func() { l.endBox(); ended.Add(1) }()
			synctest.Wait()
			if want == 1 && ended.Load() != 2 {
				t.Errorf("%d of two have ended", ended.Load())
			}
		}
	})
}
