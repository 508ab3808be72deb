package supervisor

import (
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
