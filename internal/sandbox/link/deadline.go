package link

import (
	"sync"
	"time"
)

// deadline is a time after which reads or writes fail.
type deadline struct {
	timer  *time.Timer
	passed bool
}

func (d *deadline) stop() {
	if d.timer != nil {
		d.timer.Stop()
		d.timer = nil
	}
}

// SetDeadline sets both deadlines.
func (s *Stream) SetDeadline(t time.Time) error {
	s.setDeadline(&s.readEnd, &s.readable, t)
	s.setDeadline(&s.writeEnd, &s.writable, t)
	return nil
}

// SetReadDeadline is that of net.Conn.
func (s *Stream) SetReadDeadline(t time.Time) error {
	s.setDeadline(&s.readEnd, &s.readable, t)
	return nil
}

// SetWriteDeadline is that of net.Conn.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	s.setDeadline(&s.writeEnd, &s.writable, t)
	return nil
}

func (s *Stream) setDeadline(d *deadline, waiting *sync.Cond, t time.Time) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	d.stop()
	left := time.Until(t)
	d.passed = !t.IsZero() && left <= 0
	if !t.IsZero() && left > 0 {
		var timer *time.Timer
		timer = time.AfterFunc(left, func() {
			s.link.mu.Lock()
			defer s.link.mu.Unlock()
			if d.timer == timer { // not another one since
				d.passed = true
				waiting.Broadcast()
			}
		})
		d.timer = timer
	}
	waiting.Broadcast()
}
