package link

import (
	"encoding/binary"
	"io"
	"syscall"

	"golang.org/x/sys/unix"
)

// directFrom is how much is worth a system call of its own.
const directFrom = 16 << 10

// direct is where bulk can be written from where it lies, without a wait; nil: it cannot.
func direct(rw io.ReadWriteCloser) syscall.RawConn {
	c, ok := rw.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	waits := true
	err = raw.Control(func(fd uintptr) {
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		waits = err != nil || flags&unix.O_NONBLOCK == 0
	})
	if err != nil || waits {
		return nil
	}
	return raw
}

// emitDirect sends what a write holds past the buffer, if that is empty, nobody writes it
// and nothing else waits. What the kernel does not take at once goes through the buffer: so
// nobody waits here.
func (s *Stream) emitDirect() {
	if s.messages {
		return
	}
	l := s.link
	for l.raw != nil && !l.writing && len(l.out) == 0 && l.err == nil && l.idle() && s.open == nil && min(len(s.unsent), s.credit) >= directFrom {
		n := min(len(s.unsent), s.credit, MaxCopy)
		var heads [2 * headSize]byte
		var parts [][]byte
		for rest, head := s.unsent[:n], heads[:]; len(rest) > 0; head = head[headSize:] {
			k := min(len(rest), maxBody)
			head[0], head[1] = byte(typeData), 0
			binary.BigEndian.PutUint16(head[2:], uint16(k))
			binary.BigEndian.PutUint32(head[4:], s.id)
			parts = append(parts, head[:headSize], rest[:k])
			rest = rest[k:]
		}
		sent := l.writeNow(parts)
		for _, p := range parts {
			skip := min(sent, len(p))
			sent -= skip
			l.out = append(l.out, p[skip:]...)
		}
		s.credit -= n
		s.unsent = s.unsent[n:]
	}
	s.pending = len(s.unsent) > 0
}

// writeNow writes what the kernel takes at once. Why it took no more is found out by who
// writes the rest.
func (l *Link) writeNow(parts [][]byte) (sent int) {
	l.raw.Write(func(fd uintptr) bool {
		sent, _ = unix.Writev(int(fd), parts)
		return true
	})
	return max(sent, 0)
}

// idle says whether no stream has anything to send.
func (l *Link) idle() bool {
	return !l.ping && !l.pong && l.opens.empty() && l.ready[0].empty() && l.ready[1].empty()
}
