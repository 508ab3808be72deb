package link

import (
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// outlet writes as much as can be written at once, and says how much that was.
type outlet func(parts [][]byte) int

// maxParts is how many frames are written at once.
const maxParts = 16

// outletTo is the way to w, if that is a socket: only of those it is known that a write does
// not wait.
func outletTo(w io.Writer) outlet {
	c, ok := w.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	kind := 0
	raw.Control(func(fd uintptr) { kind, _ = unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_TYPE) })
	if kind != unix.SOCK_STREAM {
		return nil
	}
	return func(parts [][]byte) (n int) {
		raw.Control(func(fd uintptr) {
			n, _ = unix.SendmsgBuffers(int(fd), parts, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
		})
		return max(n, 0)
	}
}

// passes says whether what comes next can go where WriteTo would write it: nothing that came
// before still waits, but what is gathered already.
func (s *Stream) passes() bool {
	return s.link.held == s || s.outlet != nil && !s.reading && s.in.size == 0 && !(s.link.paused && s.network())
}

// gathers says whether a frame is one more of those that are gathered.
func (l *Link) gathers(f frame) bool {
	return l.held == nil || f.kind == typeData && f.id == l.held.id && len(l.parts) < maxParts
}

// gather keeps bytes in the buffer that they were read into, until flush writes them: they
// are neither copied nor handed over, and one call writes many frames.
func (l *Link) gather(s *Stream, body []byte) {
	l.held, s.reading = s, true
	l.parts = append(l.parts, body)
}

// flush writes what was gathered, and does not wait: what is not taken at once waits for
// WriteTo, which also finds out why. The mutex is free meanwhile.
func (l *Link) flush() {
	s, out := l.held, l.held.outlet
	l.mu.Unlock()
	sent := out(l.parts)
	l.mu.Lock()
	l.held, s.reading = nil, false
	s.passed += int64(sent)
	if s.readErr == nil { // else nobody wants the rest
		rest := sent
		for _, p := range l.parts {
			skip := min(rest, len(p))
			rest -= skip
			if skip < len(p) {
				s.in.put(p[skip:])
			}
		}
		s.consumed(sent)
	}
	s.readable.Broadcast() // also who waits in shut
	clear(l.parts)
	l.parts = l.parts[:0]
	l.kick()
}

// shut ends the way past the ring once nobody is on it, and says how much went by it.
func (s *Stream) shut() int64 {
	for s.reading {
		s.readable.Wait()
	}
	s.outlet = nil
	return s.passed
}
