package control

import (
	"sync"
	"time"
)

// shown is who is attached. What he is to see waits in a queue that somebody else
// empties, so that a terminal that hangs holds up nobody who asks about the session.
type shown struct {
	conn *Conn
	done chan struct{} // nothing more is sent

	mu    sync.Mutex
	turn  *sync.Cond
	queue []frame
	held  int  // bytes in queue
	last  bool // nothing is added any more
	gone  bool
}

type frame struct {
	kind byte
	body []byte
}

// queueLimit is what may wait for who is attached before the session waits too.
const queueLimit = 64 << 10

func show(conn *Conn) *shown {
	s := &shown{conn: conn, done: make(chan struct{})}
	s.turn = sync.NewCond(&s.mu)
	go s.send()
	return s
}

// add never waits.
func (s *shown) add(kind byte, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone || s.last {
		return
	}
	s.queue = append(s.queue, frame{kind, append([]byte(nil), body...)})
	s.held += len(body)
	s.turn.Broadcast()
}

// end sends what is in the queue, if it is taken in time, and then nothing more.
func (s *shown) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = true
	s.conn.SetWriteDeadline(time.Now().Add(finishes))
	s.turn.Broadcast()
}

// room waits until there is room in the queue, or nobody to be shown anything.
func (s *shown) room() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held > queueLimit && !s.gone && !s.last {
		s.turn.Wait()
	}
}

// next waits for the next frame.
func (s *shown) next() (f frame, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 && !s.last {
		s.turn.Wait()
	}
	if len(s.queue) == 0 {
		return frame{}, false
	}
	f, s.queue = s.queue[0], s.queue[1:]
	wait := takes
	if s.last {
		wait = finishes
	}
	s.conn.SetWriteDeadline(time.Now().Add(wait))
	return f, true
}

func (s *shown) send() {
	defer close(s.done)
	for {
		f, ok := s.next()
		if !ok || s.conn.Send(f.kind, f.body) != nil {
			break
		}
		s.mu.Lock()
		s.held -= len(f.body)
		s.turn.Broadcast()
		s.mu.Unlock()
	}
	s.mu.Lock()
	s.gone = true
	s.turn.Broadcast()
	s.mu.Unlock()
	s.conn.Close() // its listener hears it
}
