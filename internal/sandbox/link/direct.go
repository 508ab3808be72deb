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
	l := s.link
	for s.bulk() {
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
		s.pending = len(s.unsent) > 0
	}
}

// bulk says whether what a write holds can be sent past the buffer.
func (s *Stream) bulk() bool {
	l := s.link
	return !s.messages && s.open == nil && min(len(s.unsent), s.credit) >= directFrom && l.free() && len(l.out) == 0 && l.idle()
}

// free says whether something can be written here and now: nobody else writes.
func (l *Link) free() bool { return l.raw != nil && !l.writing && l.err == nil }

// littleFrom is how much is left to who writes the buffer: what is less is written by
// whoever has it, so that nobody is woken for a few bytes.
const littleFrom = 1 << 10

// emitLittle writes what is in the buffer, if that is little and the kernel takes it at once.
func (l *Link) emitLittle() {
	if len(l.out) > 0 && len(l.out) < littleFrom && l.free() {
		l.out = l.out[:copy(l.out, l.out[l.writeNow([][]byte{l.out}):])]
	}
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
