package link

import (
	"container/list"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// Stream is one stream of a link, and a net.Conn. On a stream of messages each Write sends
// one message, and each Read receives one.
type Stream struct {
	link   *Link
	id     uint32
	header Header
	traits

	// All below is guarded by the link's mutex.

	open    []byte        // the body of the frame that opens it, until that is sent
	waits   *list.Element // among those to be accepted
	taken   bool          // somebody has it, or never will
	refused bool
	settled bool // the link has forgotten it
	queued  bool // the link knows that it has something to send

	// What is sent.
	unsent   []byte // of the Write that waits
	pending  bool   // a Write waits
	cut      bool   // it will never be sent
	writing  bool   // a Write is under way
	credit   int
	grant    int // credit for the peer, to be sent
	fin      bool
	finSent  bool
	last     frameType // done or reset, once it is clear which
	why      Reset
	lastSent bool
	writeErr error
	writable sync.Cond
	writeEnd deadline

	// What is received.
	in       ring
	reading  bool   // somebody writes what came, and has let go of the mutex
	outlet   outlet // where WriteTo writes to, if what comes can pass the ring
	passed   int64  // what did
	window   int
	left     int // of the window: what the peer may still send
	used     int // read, and no credit given for it yet
	finGot   bool
	lastGot  bool
	cutBy    Reset // what is read when all that came before was
	readErr  error
	readable sync.Cond
	readEnd  deadline
}

func newStream(l *Link, id uint32, h Header) *Stream {
	s := &Stream{link: l, id: id, header: h, traits: h.traits(), credit: Window, window: Window, left: Window}
	s.readable.L, s.writable.L = &l.mu, &l.mu
	return s
}

// Header says what the stream is for.
func (s *Stream) Header() Header { return s.header }

// opener is the side that opened the stream: the near end has the odd numbers.
func (s *Stream) opener() Role {
	if s.id%2 == uint32(Near)%2 {
		return Near
	}
	return Far
}

// network says whether it carries something of the sandbox's network.
func (s *Stream) network() bool {
	switch s.header.(type) {
	case Conn, Datagrams, Dial:
		return true
	}
	return false
}

// cost is what n bytes take of a window. A message takes two more, so that empty ones are
// bounded too.
func (s *Stream) cost(n int) int {
	if s.messages {
		return n + 2
	}
	return n
}

// Read reads what has come. Of a message that is longer than p nothing is lost: the error
// is io.ErrShortBuffer.
func (s *Stream) Read(p []byte) (int, error) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if len(p) == 0 && !s.messages {
		return 0, s.readErr
	}
	if err := s.awaitData(); err != nil {
		return 0, err
	}
	if !s.messages {
		n := s.in.copyOut(p)
		s.consume(n)
		return n, nil
	}
	var size [2]byte
	s.in.copyOut(size[:])
	n := int(binary.BigEndian.Uint16(size[:]))
	if n > len(p) {
		return 0, io.ErrShortBuffer
	}
	s.in.drop(len(size))
	s.in.copyOut(p[:n])
	s.in.drop(n)
	s.consumed(s.cost(n))
	return n, nil
}

// WriteTo writes what comes to w until its end, without a copy of its own. Nobody else may
// write to w meanwhile.
func (s *Stream) WriteTo(w io.Writer) (total int64, err error) {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.messages {
		return 0, errors.ErrUnsupported
	}
	s.outlet, s.passed = outletTo(w), 0
	defer func() { total += s.shut() }()
	for {
		if err := s.awaitData(); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return total, err
		}
		piece := s.in.front()
		s.reading = true
		s.link.mu.Unlock()
		n, err := w.Write(piece)
		s.link.mu.Lock()
		s.reading = false
		s.readable.Broadcast()
		total += int64(n)
		if s.readErr != nil {
			err = errors.Join(err, s.readErr)
		} else {
			s.consume(n)
		}
		if err != nil {
			return total, err
		}
	}
}

// awaitData waits until there is something to read, and nobody else reads.
func (s *Stream) awaitData() error {
	for {
		switch {
		case s.readErr != nil:
			return s.readErr
		case s.readEnd.passed:
			return os.ErrDeadlineExceeded
		case s.reading, (s.link.paused || s.link.cut) && s.network():
		case s.in.size > 0:
			return nil
		case s.finGot:
			return io.EOF
		case s.cutBy != 0:
			return s.cutBy
		}
		s.readable.Wait()
	}
}

// consume forgets the first n bytes.
func (s *Stream) consume(n int) {
	s.in.drop(n)
	s.consumed(n)
}

// consumed gives the peer credit once half a window was read. The window doubles if the
// reader keeps up with the sender and the link still has growth to give. Of messages
// everything is given back once nothing waits: the next may need the whole window.
func (s *Stream) consumed(n int) {
	s.settle()
	s.used += n
	idle := s.in.size == 0
	if s.finGot || s.last != 0 || s.used < s.window/2 && !(s.messages && idle) {
		return
	}
	if idle && !s.messages && s.window < MaxWindow && s.link.growth >= s.window {
		s.link.growth -= s.window
		s.used += s.window
		s.window *= 2
	}
	s.grant += s.used
	s.used = 0
	s.link.push(s)
	s.link.kick()
}

// Write sends p. It returns when all of it is on its way, which the window of the other
// end may delay.
func (s *Stream) Write(p []byte) (int, error) {
	l := s.link
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.messages && len(p) > MaxMessage {
		return 0, fmt.Errorf("a message of %d bytes: %d are the most", len(p), MaxMessage)
	}
	if !s.data[l.role] {
		return 0, fmt.Errorf("the %v sends no data on this stream", l.role)
	}
	for s.writing && s.cannotWrite() == nil {
		s.writable.Wait()
	}
	if err := s.cannotWrite(); err != nil || len(p) == 0 && !s.messages {
		return 0, err
	}
	s.unsent, s.pending, s.writing, s.cut = p, true, true, false
	for s.pending && s.cannotWrite() == nil {
		if s.emitDirect(); s.pending {
			l.push(s)
		}
		if l.kick(); s.pending {
			s.writable.Wait()
		}
	}
	n := len(p) - len(s.unsent)
	var err error
	if s.pending || s.cut {
		err = s.cannotWrite()
	}
	s.unsent, s.pending, s.writing = nil, false, false
	s.writable.Broadcast()
	return n, err
}

func (s *Stream) cannotWrite() error {
	if s.writeErr == nil && s.writeEnd.passed {
		return os.ErrDeadlineExceeded
	}
	return s.writeErr
}

// Unheard waits until nothing more can be written, because this side has ended its data or
// the other has no more use for it.
func (s *Stream) Unheard() {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	for s.writeErr == nil {
		s.writable.Wait()
	}
}

// CloseWrite ends the data of this side. A Write that still waits is cut off.
func (s *Stream) CloseWrite() error {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	if s.writeErr != nil {
		return s.writeErr
	}
	s.fail(nil, net.ErrClosed)
	s.fin = true
	s.link.push(s)
	s.link.kick()
	return nil
}

// CloseRead ends what is read here: it reads as the end of data, and what still comes is
// thrown away.
func (s *Stream) CloseRead() error {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.fail(io.EOF, nil)
	s.settle()
	return nil
}

// Close ends both directions. What was written arrives, and then the end of data; what the
// other end still sends is thrown away, and it gets a reset.
func (s *Stream) Close() error {
	return s.close(func() {
		s.fin = true
		if !s.finGot {
			s.finish(typeReset, Gone)
		}
	})
}

// Reset ends both directions at once. The other end reads what came before, as it does of
// a socket, and then the reset.
func (s *Stream) Reset(why Reset) error {
	return s.close(func() {
		s.fin = s.finSent
		if !s.finSent || !s.finGot {
			s.finish(typeReset, why)
		}
	})
}

func (s *Stream) close(how func()) error {
	s.link.mu.Lock()
	defer s.link.mu.Unlock()
	s.fail(net.ErrClosed, net.ErrClosed)
	if s.last == 0 {
		how()
	}
	s.link.push(s)
	s.link.kick()
	s.settle()
	return nil
}

// fail makes reads and writes fail, for the first reason that comes. What waits to be read
// or written is thrown away.
func (s *Stream) fail(read, write error) {
	if s.readErr == nil && read != nil {
		s.readErr = read
		s.in = ring{}
		s.readEnd.stop()
		s.readable.Broadcast()
	}
	if s.writeErr == nil && write != nil {
		s.writeErr = write
		s.cut, s.pending = s.pending, false
		s.writeEnd.stop()
		s.writable.Broadcast()
	}
}

// finish chooses the last frame, if none is chosen yet.
func (s *Stream) finish(last frameType, why Reset) {
	if s.last == 0 {
		s.last, s.why = last, why
		s.link.push(s)
	}
}

// settle makes the link forget a stream that both sides have ended and nobody reads any
// more. Only then another one may begin.
func (s *Stream) settle() {
	if s.settled || !s.lastGot || !s.lastSent || s.readErr == nil && (!s.taken || s.in.size > 0) {
		return
	}
	s.settled = true
	l := s.link
	delete(l.streams, s.id)
	l.growth += s.window - Window
	if s.refused {
		l.refused--
	} else {
		l.live[s.opener()]--
	}
}

// LocalAddr is where a connection of the sandbox was going, and otherwise the link.
func (s *Stream) LocalAddr() net.Addr {
	if c, ok := s.header.(Conn); ok {
		return net.TCPAddrFromAddrPort(c.To)
	}
	return address{s.link.role, s.id}
}

// RemoteAddr is where a connection of the sandbox came from, and otherwise the link.
func (s *Stream) RemoteAddr() net.Addr {
	if c, ok := s.header.(Conn); ok {
		return net.TCPAddrFromAddrPort(c.From)
	}
	return address{s.link.role.other(), s.id}
}

type address struct {
	role Role
	id   uint32
}

func (address) Network() string  { return "link" }
func (a address) String() string { return fmt.Sprintf("%v, stream %d", a.role, a.id) }
