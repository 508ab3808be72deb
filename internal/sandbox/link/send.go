package link

import "encoding/binary"

const (
	// outSize is each of the two buffers for what is sent. A large one costs those who
	// type while a file passes: they wait until it has left.
	outSize = 3 * MaxFrame
	// room is more than what one stream may add to the buffer at a time.
	room = MaxFrame + 64
)

// queue is first in, first out. A stream is in it once at most.
type queue struct {
	all  []*Stream
	head int
}

func (q *queue) push(s *Stream) {
	if q.head > 64 && q.head > len(q.all)/2 {
		n := copy(q.all, q.all[q.head:])
		clear(q.all[n:])
		q.all, q.head = q.all[:n], 0
	}
	q.all = append(q.all, s)
}

func (q *queue) empty() bool { return q.head == len(q.all) }

func (q *queue) pop() *Stream {
	if q.head == len(q.all) {
		q.all, q.head = q.all[:0], 0
		return nil
	}
	s := q.all[q.head]
	q.all[q.head] = nil
	q.head++
	return s
}

// push makes a stream one of those that have something to send.
func (l *Link) push(s *Stream) {
	if !s.queued && l.err == nil {
		s.queued = true
		if s.open != nil {
			l.opens.push(s)
			return
		}
		which := 0
		if s.many {
			which = 1
		}
		l.ready[which].push(s)
	}
}

// pop takes the next one. A stream is opened before anything else is sent: the peer expects
// the next number. Few and many take turns: a signal does not wait for thousands of
// connections, and they do not wait for a terminal without end.
func (l *Link) pop() *Stream {
	if s := l.opens.pop(); s != nil {
		return s
	}
	l.turn = 1 - l.turn
	if s := l.ready[l.turn].pop(); s != nil {
		return s
	}
	return l.ready[1-l.turn].pop()
}

// kick puts what can be sent into the buffer, and wakes who writes it.
func (l *Link) kick() {
	l.fill()
	if l.emitLittle(); len(l.out) > 0 {
		l.wake.Signal()
	}
}

// fill puts what can be sent into the buffer while there is room. Streams take turns, a
// frame each.
func (l *Link) fill() {
	for l.err == nil && cap(l.out)-len(l.out) >= room {
		if l.ping {
			l.ping = false
			l.out = appendFrame(l.out, typePing, 0)
		}
		if l.pong {
			l.pong = false
			l.out = appendFrame(l.out, typePong, 0)
		}
		s := l.pop()
		if s == nil {
			return
		}
		s.queued = false
		if s.emit() {
			l.push(s)
		}
	}
}

// emit appends the next frames of a stream: at most one that is long. It says whether
// more could go at once.
func (s *Stream) emit() (more bool) {
	l := s.link
	if s.open != nil {
		l.out = appendFrame(l.out, typeOpen, s.id, s.open)
		s.open = nil
		return true
	}
	if s.lastSent {
		return false
	}
	if s.grant > 0 && !s.finGot && s.last == 0 {
		l.out = appendFrame(l.out, typeCredit, s.id, binary.BigEndian.AppendUint32(nil, uint32(s.grant)))
		s.left += s.grant
	}
	s.grant = 0
	if s.pending && s.fits() {
		s.emitData()
	}
	if s.pending {
		return s.fits()
	}
	if s.fin && !s.finSent {
		s.finSent = true
		l.out = appendFrame(l.out, typeFin, s.id)
	}
	if s.last == 0 && s.finSent && s.finGot {
		s.last = typeDone
	}
	if s.last != 0 {
		s.lastSent = true
		var why []byte
		if s.last == typeReset {
			why = []byte{byte(s.why)}
		}
		l.out = appendFrame(l.out, s.last, s.id, why)
		s.settle()
	}
	return false
}

// least is how much is worth a frame, if more waits. A reader that has read everything has
// given credit for half a window at least: so nobody waits for ever.
const least = Window / 2

// fits says whether some of the write that waits can go: some bytes, or a whole message.
func (s *Stream) fits() bool {
	if s.messages {
		return s.cost(len(s.unsent)) <= s.credit
	}
	return s.credit >= min(len(s.unsent), least)
}

// emitData sends as much of the write that waits as one frame and the credit allow.
func (s *Stream) emitData() {
	n := len(s.unsent)
	if !s.messages {
		n = min(n, s.credit, maxBody)
	}
	s.link.out = appendFrame(s.link.out, typeData, s.id, s.unsent[:n])
	s.credit -= s.cost(n)
	if s.unsent = s.unsent[n:]; len(s.unsent) == 0 {
		s.pending = false
		s.writable.Broadcast()
	}
}
