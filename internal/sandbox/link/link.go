package link

import (
	"container/list"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"
	"syscall"
	"time"
)

// perStream is more than what a stream costs beside the bytes that it holds.
const perStream = 2 << 10

// MaxMemory bounds what a link holds, whatever the other end sends and however little
// is read: streams that are open or refused, their windows, and the fixed buffers.
const MaxMemory = 2*MaxStreams*perStream + MaxStreams*Window + Growth + 2*outSize + inSize

// Options are those of one end.
type Options struct {
	// Alive is how often the near end asks whether the far end is there. A far end that
	// has not answered when the next question is due has ended. 0: it is not asked.
	Alive time.Duration
}

// Link is one end of a link. All its methods may be called at any time.
type Link struct {
	role Role
	rw   io.ReadWriteCloser
	done chan struct{}
	runs sync.WaitGroup

	mu      sync.Mutex // guards all below, and the state of all streams
	err     error      // why the link ended
	streams map[uint32]*Stream
	live    [3]int // of streams, by who opened them: those that are not refused
	refused int    // and those that are
	next    uint64 // the number of our next stream
	due     uint64 // the number of the peer's next stream
	growth  int    // what windows may still grow by
	severed bool
	paused  bool // by Pause
	cut     bool // by Interrupt
	still   bool // by Stand
	woke    bool // it stood still when it was last asked
	accepts list.List
	arrived sync.Cond // accepts has one more, or the link ended

	greeted int  // how much of the peer's preface has come
	ping    bool // to be sent
	asked   bool // sent, or to be, and not yet answered
	pong    bool // to be sent

	opens queue    // streams that are not yet opened, in the order of their numbers
	ready [2]queue // streams that have something to send: few, and many
	turn  int      // which of the two is next
	out   []byte   // frames for the next write
	wake  sync.Cond

	held  *Stream  // whose bytes are gathered
	parts [][]byte // of the buffer that frames are read into

	writing bool            // a buffer is being written
	raw     syscall.RawConn // for bulk; nil: all goes through the buffer
}

// prefaces are what the two sides begin with. The last byte is the version.
var prefaces = [...]string{Near: "rfnear\x00\x01", Far: "rffar\x00\x00\x01"}

// New starts one end of a link over rw, which is the link's own from here on. Closing rw
// must end a Read and a Write that wait in it.
func New(rw io.ReadWriteCloser, role Role, o Options) *Link {
	l := newLink(role, make([]byte, 0, outSize))
	l.rw, l.raw = rw, direct(rw)
	l.runs.Go(l.readLoop)
	l.runs.Go(l.writeLoop)
	if o.Alive > 0 && role == Near {
		l.runs.Go(func() { l.watch(o.Alive) })
	}
	return l
}

// newLink makes an end that nothing moves yet.
func newLink(role Role, out []byte) *Link {
	l := &Link{role: role, done: make(chan struct{}), streams: map[uint32]*Stream{}, growth: Growth,
		next: uint64(role), due: uint64(role.other()), out: append(out, prefaces[role]...)}
	l.arrived.L, l.wake.L = &l.mu, &l.mu
	return l
}

// Open begins a stream. It does not wait for the other end, which may still refuse it:
// reads and writes then fail with a [Reset].
func (l *Link) Open(h Header) (*Stream, error) {
	body, err := encodeHeader(l.role, h)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.err != nil:
		return nil, l.err
	case l.full(l.role):
		return nil, ErrTooMany
	case l.next > math.MaxUint32:
		return nil, ErrUsedUp
	}
	s := newStream(l, uint32(l.next), h)
	s.open, s.taken = body, true
	l.next += 2
	l.live[l.role]++
	l.streams[s.id] = s
	l.push(s)
	l.kick()
	return s, nil
}

// Accept waits for a stream that the other end opens.
func (l *Link) Accept() (*Stream, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.err == nil && l.accepts.Len() == 0 {
		l.arrived.Wait()
	}
	if l.err != nil {
		return nil, l.err
	}
	s := l.accepts.Remove(l.accepts.Front()).(*Stream)
	s.waits, s.taken = nil, true
	s.settle()
	return s, nil
}

// full says whether a side may open no more streams.
func (l *Link) full(opener Role) bool {
	return l.live[Near]+l.live[Far] >= MaxStreams || opener == Far && l.live[Far] >= MaxConns
}

// Done is closed when the link has ended.
func (l *Link) Done() <-chan struct{} { return l.done }

// Err says why the link ended; nil while it lasts.
func (l *Link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Close ends the link and every stream on it, at once. What was written and has not left
// yet is lost. It returns when nothing of the link runs any more.
func (l *Link) Close() error {
	l.end(ErrClosed)
	l.runs.Wait()
	return nil
}

// end ends the link for the first reason that comes.
func (l *Link) end(why error) {
	l.mu.Lock()
	first := l.err == nil
	if first {
		l.err = why
		l.endStreams(why)
		l.accepts.Init()
		l.opens, l.ready = queue{}, [2]queue{}
		close(l.done)
		l.arrived.Broadcast()
		l.wake.Broadcast()
	}
	l.mu.Unlock()
	if first && l.rw != nil {
		l.rw.Close()
	}
}

// failStreams ends every stream. The mutex is held.
func (l *Link) failStreams(why error) {
	for _, s := range l.streams {
		s.fail(why, why)
	}
	clear(l.streams)
}

// Sever ends every connection and datagram of the sandbox's network, and refuses those that
// the far end still opens. Everything else goes on.
func (l *Link) Sever() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.severed = true
	for _, s := range l.streams {
		if s.network() {
			s.fail(Gone, Gone)
			s.finish(typeReset, Gone)
			s.settle()
		}
	}
	l.kick()
}

// Pause holds the sandbox's network here, whatever the other end does: nothing that comes on
// its connections is read, and those that the other end opens are refused. What was read
// before has gone.
func (l *Link) Pause() { l.pause(true) }

// Resume lets it go on.
func (l *Link) Resume() { l.pause(false) }

func (l *Link) pause(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = on
	for _, s := range l.streams {
		s.readable.Broadcast()
	}
}

// Interrupt ends every connection of the sandbox's network, and refuses those that the other
// end still opens, as long as the way to that end is broken. Its datagrams wait. Everything
// else goes on.
func (l *Link) Interrupt(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = on
	for _, s := range l.streams {
		if _, waits := s.header.(Datagrams); on && s.network() && !waits {
			s.fail(Gone, Gone)
			s.finish(typeReset, Gone)
			s.settle()
		}
		s.readable.Broadcast()
	}
	l.kick()
}

// Stand says that the other end was made to stand still by this one, and may be silent: it is
// asked, and nobody counts the answer as due until it goes on.
func (l *Link) Stand(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.still, l.woke = on, true
}

// Broke ends the link because of what the other end said on a stream: something that an
// honest one never says. It returns why the link ended.
func (l *Link) Broke(what string) error { return l.broken(fmt.Errorf("%w: %s", WrongMessage, what)) }

// broken ends the link because of what the other end sent.
func (l *Link) broken(err error) error {
	l.end(fmt.Errorf("the %v: %w", l.role.other(), err))
	return l.Err()
}

// watch asks the far end again and again whether it is there.
func (l *Link) watch(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for last := time.Now(); ; {
		select {
		case <-l.done:
			return
		case <-tick.C:
		}
		// Who was stopped itself, as by Ctrl-Z, may not have read the answer yet.
		slept := time.Since(last) > every+every/2
		last = time.Now()
		l.mu.Lock()
		silent := l.asked && !slept && !l.still && !l.woke
		l.woke = l.still
		l.ping, l.asked = l.ping || !l.asked, true
		l.kick()
		l.mu.Unlock()
		if silent {
			l.end(ErrSilent)
		}
	}
}

// readLoop reads frames until the link ends. What is left of a frame stays where it is as
// long as a whole one has room behind it.
func (l *Link) readLoop() {
	buf, from, to, idle := make([]byte, inSize), 0, 0, 0
	for {
		if from == to {
			from, to = 0, 0
		} else if len(buf)-from < MaxFrame+headSize {
			from, to = 0, copy(buf, buf[from:to])
		}
		n, err := l.rw.Read(buf[to:])
		to += n
		used, wrong := l.feed(buf[from:to])
		from += used
		if wrong != nil && mutated("link") {
			from, wrong = to, nil
		}
		if idle++; n > 0 {
			idle = 0
		}
		switch {
		case wrong != nil:
			l.broken(wrong)
			return
		case err != nil:
			l.end(lost(err, to > from))
			return
		case idle > 100:
			l.end(io.ErrNoProgress)
			return
		}
	}
}

// lost says why nothing more can be read.
func lost(err error, within bool) error {
	switch {
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("read from the link: %w", err)
	case within:
		return ErrCut
	}
	return ErrEnded
}

// writeLoop writes what is to be sent until the link ends. While it writes one buffer, the
// other is filled.
func (l *Link) writeLoop() {
	spare := make([]byte, 0, outSize)
	for {
		l.mu.Lock()
		l.fill()
		for l.err == nil && len(l.out) == 0 {
			l.wake.Wait()
		}
		if l.err != nil {
			l.mu.Unlock()
			return
		}
		full := l.out
		l.out = spare[:0]
		l.fill()
		l.writing = true
		l.mu.Unlock()
		_, err := l.rw.Write(full)
		l.mu.Lock()
		l.writing = false
		l.mu.Unlock()
		if err != nil {
			l.end(fmt.Errorf("write to the link: %w", err))
			return
		}
		spare = full
	}
}
