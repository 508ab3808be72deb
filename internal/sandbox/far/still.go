package far

import (
	"slices"
	"sync"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// settling is how long a sandbox may take to end whose layers are left here. Nobody waits.
const settling = 30 * time.Second

// cause is why a sandbox stands still.
type cause int

const (
	byNear cause = iota // the near end said so
	byLoss              // there is no near end just now
)

// stillness is why a sandbox stands still. It goes on when nothing is left of that.
type stillness struct {
	mu  sync.Mutex
	why [2]bool
}

func (s *stillness) freeze(box rung.Sandbox, c cause) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why[c] = true
	return box.Freeze()
}

func (s *stillness) thaw(box rung.Sandbox, c cause) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why[c] = false
	if s.why[byNear] || s.why[byLoss] {
		return nil
	}
	return box.Thaw()
}

// any says whether it stands still for some reason.
func (s *stillness) any() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why[byNear] || s.why[byLoss]
}

// last lets the sandbox outlive its connection. Without one it stands still; one that does not
// ends instead.
func (t *there) last(box rung.Sandbox) {
	if t.Last == nil {
		return
	}
	t.lasted.Store(true)
	t.Last(func() {
		if t.still.freeze(box, byLoss) != nil && !t.ended() {
			box.Close()
		}
	}, func() { t.still.thaw(box, byLoss) })
}

// ended says whether nothing runs any more.
func (t *there) ended() bool {
	select {
	case <-t.over:
		return true
	default:
		return false
	}
}

// leaveLayers hands over what waits for review.
func (t *there) leaveLayers() error {
	var dirs []string
	for _, l := range t.layers {
		dirs = append(dirs, l.source.Dir)
	}
	return t.Left(dirs, t.ended())
}

// stopped tells that the agent was stopped, as by Ctrl-Z: then the near end stops as well, and
// says nothing until a person lets both go on. What stands still for another reason was not
// stopped by a person, and what went on since is not stopped any more.
func (t *there) stopped() {
	if t.Last != nil && (t.still.any() || !t.stands()) {
		return
	}
	if t.Patient != nil {
		t.Patient(true)
	}
	link.Send(t.control, link.Message{Kind: wire.Stopped})
}

// stands says whether some process of the sandbox is stopped; true where nobody knows.
func (t *there) stands() bool {
	box := t.sandbox()
	if box == nil {
		return true
	}
	list, err := sys.Below(box.PID())
	return err != nil || slices.ContainsFunc(list, func(p sys.Process) bool { return p.State == 'T' || p.State == 't' })
}

// goesOn hears that it does.
func (t *there) goesOn(sig syscall.Signal) {
	if sig == syscall.SIGCONT && t.Patient != nil {
		t.Patient(false)
	}
}
