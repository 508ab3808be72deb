package gate

import (
	"io"
	"net"
	"sync"

	"ringfence.dev/ringfence/internal/network/relay"
)

// sockets are the listeners of a gate and the connections that are open, so that
// closing it ends them all.
type sockets struct {
	mu     sync.Mutex
	ports  []io.Closer
	conns  map[net.Conn]struct{}
	closed bool
}

// listen remembers a listener.
func (s *sockets) listen(l io.Closer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		l.Close()
	}
	s.ports = append(s.ports, l)
}

// hold remembers a connection. It closes one that comes too late.
func (s *sockets) hold(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		c.Close()
		return false
	}
	if s.conns == nil {
		s.conns = map[net.Conn]struct{}{}
	}
	s.conns[c] = struct{}{}
	return true
}

// release forgets a connection and closes it.
func (s *sockets) release(c net.Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	c.Close()
}

// close closes the listeners and resets the connections.
func (s *sockets) close() {
	s.mu.Lock()
	ports, conns := s.ports, s.conns
	s.ports, s.conns, s.closed = nil, nil, true
	s.mu.Unlock()
	for _, p := range ports {
		p.Close()
	}
	for c := range conns {
		reset(c)
	}
}

// reset ends a connection so that its other side hears of it at once.
func reset(c net.Conn) {
	if t, ok := c.(relay.Conn); ok {
		t.SetLinger(0)
	}
	c.Close()
}
