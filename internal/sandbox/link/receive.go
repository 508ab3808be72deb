package link

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// inSize is the one buffer that frames are read into.
const inSize = 3 * MaxFrame

// feed takes the preface and the whole frames at the start of b, and says how much that
// was. An error is a violation: nothing that follows is taken.
func (l *Link) feed(b []byte) (used int, err error) {
	if used, err = l.greet(b); err != nil {
		return used, err
	}
	for l.greeted == headSize {
		f, n, err := parse(b[used:])
		if err == nil && n > 0 {
			err = l.obey(f)
		}
		if err != nil || n == 0 {
			l.obey(frame{})
			return used, err
		}
		used += n
	}
	return used, nil
}

// obey takes one frame, and none if it is empty. What was gathered before it goes first.
func (l *Link) obey(f frame) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.gathers(f) {
		l.flush()
	}
	if f.kind != 0 && l.err == nil {
		err = l.take(f)
		l.kick()
	}
	return err
}

// greet compares the first bytes of all, as they come.
func (l *Link) greet(b []byte) (int, error) {
	want := prefaces[l.role.other()][l.greeted:]
	b = b[:min(len(b), len(want))]
	if !strings.HasPrefix(want, string(b)) {
		return 0, fmt.Errorf("%w: %q", WrongPreface, b)
	}
	l.greeted += len(b)
	return len(b), nil
}

// take obeys one frame.
func (l *Link) take(f frame) error {
	switch f.kind {
	case typeOpen:
		return l.takeOpen(f)
	case typePing, typePong:
		return l.takePing(f.kind)
	}
	s := l.streams[f.id]
	if s == nil || s.open != nil { // the peer cannot know of it yet
		return fmt.Errorf("%w: type %d, stream %d", UnknownStream, f.kind, f.id)
	}
	err := s.take(f)
	if err != nil {
		err = fmt.Errorf("%w: stream %d", err, f.id)
	}
	return err
}

func (l *Link) takePing(kind frameType) error {
	switch {
	case kind == typePing && l.role == Near, kind == typePong && l.role == Far:
		return fmt.Errorf("%w: type %d", WrongSide, kind)
	case kind == typePing && l.pong:
		return PingFlood
	case kind == typePing:
		l.pong = true
	case !l.asked || l.ping:
		return PongUnasked
	default:
		l.asked = false
	}
	return nil
}

// takeOpen begins a stream of the peer, or refuses it where too many are open.
func (l *Link) takeOpen(f frame) error {
	if uint64(f.id) != l.due {
		return fmt.Errorf("%w: %d instead of %d", WrongNumber, f.id, l.due)
	}
	h, err := decodeHeader(l.role.other(), f.body)
	if err != nil {
		return err
	}
	if l.refused >= MaxStreams {
		return OpenFlood
	}
	l.due += 2
	s := newStream(l, f.id, h)
	l.streams[s.id] = s
	if why := l.refuses(s); why != 0 {
		l.refused++
		s.refused = true
		s.fail(why, why)
		s.finish(typeReset, why)
		return nil
	}
	l.live[l.role.other()]++
	s.waits = l.accepts.PushBack(s)
	l.arrived.Signal()
	return nil
}

// refuses says why a stream of the peer's is not taken; 0: it is.
func (l *Link) refuses(s *Stream) Reset {
	switch {
	case l.full(l.role.other()):
		return TooMany
	case (l.severed || l.paused || l.cut) && s.network():
		return Refused
	}
	return 0
}

func (s *Stream) take(f frame) error {
	if s.lastGot {
		return AfterEnd
	}
	switch f.kind {
	case typeData:
		return s.takeData(f.body)
	case typeCredit:
		return s.takeCredit(binary.BigEndian.Uint32(f.body))
	case typeFin:
		return s.takeFin()
	case typeReset:
		return s.takeReset(Reset(f.body[0]))
	default:
		return s.takeDone()
	}
}

func (s *Stream) takeData(body []byte) error {
	cost := s.cost(len(body))
	switch {
	case s.finGot:
		return DataAfterFin
	case !s.data[s.link.role.other()]:
		return fmt.Errorf("%w: data", WrongSide)
	case len(body) == 0 && !s.messages:
		return EmptyData
	case s.messages && len(body) > MaxMessage:
		return MessageTooLong
	case cost > s.left:
		return WindowExceeded
	}
	s.left -= cost
	if s.readErr != nil { // nobody reads it, and no credit comes back for it
		return nil
	}
	if s.passes() {
		s.link.gather(s, body)
		return nil
	}
	if s.messages {
		s.in.put(binary.BigEndian.AppendUint16(nil, uint16(len(body))))
	}
	s.in.put(body)
	s.readable.Signal()
	return nil
}

func (s *Stream) takeCredit(n uint32) error {
	if n == 0 || uint64(n)+uint64(s.credit) > MaxWindow {
		return fmt.Errorf("%w: %d", CreditOverflow, n)
	}
	s.credit += int(n)
	switch {
	case !s.pending:
	case s.bulk():
		s.writable.Broadcast() // who waits sends it from where it lies
	default:
		s.link.push(s)
	}
	return nil
}

func (s *Stream) takeFin() error {
	if s.finGot {
		return FinTwice
	}
	s.finGot = true
	s.readable.Broadcast()
	s.link.push(s) // done may be due
	return nil
}

func (s *Stream) takeReset(why Reset) error {
	if !why.valid() {
		return fmt.Errorf("%w: %d", UnknownReset, why)
	}
	s.lastGot = true
	var read error = why
	if s.finGot || s.taken && s.in.size > 0 {
		read, s.cutBy = nil, why // what came can still be read
	}
	s.fail(read, why)
	s.finish(typeReset, Gone)
	if s.waits != nil && !s.finGot {
		s.link.accepts.Remove(s.waits)
		s.waits, s.taken = nil, true
	}
	s.settle()
	return nil
}

func (s *Stream) takeDone() error {
	if !s.finGot || !s.finSent {
		return EarlyDone
	}
	s.lastGot = true
	s.settle()
	return nil
}
