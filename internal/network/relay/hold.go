package relay

import (
	"encoding/binary"
	"sync"

	"golang.org/x/sys/unix"
)

// Hold lets somebody else end a pair. The zero value holds nothing yet.
type Hold struct {
	mu   sync.Mutex
	cut  bool
	loop *loop
	pair *pair
}

// Cut ends the pair, also one that is yet to begin.
func (h *Hold) Cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = true
	if h.pair != nil {
		h.loop.doom(h.pair)
	}
}

// Gone reports whether it was cut.
func (h *Hold) Gone() bool {
	if h == nil {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.cut
}

// has says which pair is held.
func (h *Hold) has(l *loop, p *pair) {
	if h == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.loop, h.pair = l, p
	if h.cut {
		l.doom(p)
	}
}

// doom has the loop end a pair, unless it has ended by itself.
func (l *loop) doom(p *pair) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p.in && !l.closed {
		l.doomed = append(l.doomed, p)
		l.ring()
	}
}

// ring wakes the loop. The caller holds the lock.
func (l *loop) ring() { _, _ = unix.Write(l.bell, binary.NativeEndian.AppendUint64(nil, 1)) }

// hush makes the bell silent again.
func (l *loop) hush() {
	var b [8]byte
	_, _ = unix.Read(l.bell, b[:])
}
