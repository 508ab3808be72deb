package relay

import (
	"encoding/binary"
	"math"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	grain   = 10 * time.Millisecond // of idle times
	nap     = time.Minute           // the longest sleep of a loop that has pairs
	forever = time.Duration(math.MaxInt64)
)

// loop is one thread and the pairs that it serves.
type loop struct {
	pool
	epoll   int
	bell    int // an eventfd
	started time.Time
	now     time.Duration // since started, as of the last wait
	events  [128]unix.EpollEvent
	pairs   [128]*pair // that the events are for
	again   []*flow    // that can go on without an event
	turn    []*flow    // again of the last round
	idle    []*pair    // that are so, it seems
	open    []*door    // the doors, as of the last wait
	starved bool       // no descriptor was left for a new connection
	ended   chan struct{}

	mu     sync.Mutex
	slots  []*pair
	free   []int32
	age    int32
	doors  []*door
	until  time.Duration // when idle times have to be looked at
	closed bool
}

func newLoop() (*loop, error) {
	l := &loop{started: time.Now(), until: forever, ended: make(chan struct{})}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if l.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		_ = unix.Close(l.epoll)
		return nil, err
	}
	if err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.bell, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: bellEvent}); err != nil {
		l.shut()
		return nil, err
	}
	return l, nil
}

// What an event carries besides the age of a pair: the slot and the side, or one
// of these, or for a door less than these.
const (
	bellEvent = -1
	doorEvent = -2
)

// admit sends the first bytes and leaves the rest to the loop.
func (l *loop) admit(p *pair, first []byte) error {
	up := &p.flows[client]
	if int64(len(first)) > up.bound {
		return ErrBudget
	}
	if len(first) > 0 {
		n, err := send(up.to, first)
		if err != nil && err != errAgain {
			return p.failed(up.to, err)
		}
		up.moved, up.held, up.size = int64(n), first[n:], len(first)-n
		up.blocked = up.size > 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p.last = time.Since(l.started)
	before := l.until
	err := l.enter(p)
	if l.until < before {
		l.ring()
	}
	return err
}

// enter has the loop watch the sockets of a pair. The caller holds the lock: with
// one socket watched, the loop could end the pair before the other is.
func (l *loop) enter(p *pair) error {
	if l.closed {
		return ErrClosed
	}
	if !p.in {
		if len(l.free) == 0 {
			l.free = append(l.free, int32(len(l.slots)))
			l.slots = append(l.slots, nil)
		}
		l.age++
		p.in, p.slot, p.age = true, l.free[len(l.free)-1], l.age
		l.free = l.free[:len(l.free)-1]
		l.slots[p.slot] = p
	}
	for i := range p.flows {
		f := &p.flows[i]
		if f.watched || f.from < 0 {
			continue
		}
		if err := l.watch(unix.EPOLL_CTL_ADD, p, i); err != nil {
			l.leave(p)
			return err
		}
		f.watched = true
	}
	if p.idle > 0 {
		l.until = min(l.until, p.last+p.idle)
	}
	return nil
}

// leave takes a pair's slot away. The caller holds the lock.
func (l *loop) leave(p *pair) {
	if p.in {
		p.in = false
		l.slots[p.slot] = nil
		l.free = append(l.free, p.slot)
	}
}

// watch waits for bytes from one side and, where a flow needs it, for room.
func (l *loop) watch(op int, p *pair, side int) error {
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLET, Fd: p.slot<<1 | int32(side), Pad: p.age}
	if p.flows[side^1].blocked {
		e.Events |= unix.EPOLLOUT
	}
	return unix.EpollCtl(l.epoll, op, p.flows[side].from, &e)
}

// run serves the pairs until the loop is closed.
func (l *loop) run() {
	defer close(l.ended)
	for l.serve() {
	}
	for _, p := range l.slots { // nobody enters any more
		if p != nil {
			l.end(p, ErrClosed)
		}
	}
	l.shut()
}

// serve waits once and handles what came.
func (l *loop) serve() bool {
	n, err := unix.EpollWait(l.epoll, l.events[:], l.patience())
	if err != nil {
		n = 0 // EINTR; nothing else happens to a valid epoll
	}
	l.now = time.Since(l.started)
	if !l.resolve(n) {
		return false
	}
	l.again, l.turn = l.turn[:0], l.again
	for i, p := range l.pairs[:n] {
		if p != nil && !p.over {
			l.handle(p, int(l.events[i].Fd&1), l.events[i].Events)
		}
	}
	for _, f := range l.turn {
		f.queued = false
		if !f.pair.over {
			l.move(f)
		}
	}
	for _, p := range l.idle {
		if !p.over && p.last+p.idle <= l.now {
			l.end(p, p.late())
		}
	}
	l.answer()
	return true
}

// patience is how long to wait, in milliseconds.
func (l *loop) patience() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.again) > 0 || l.knocked():
		return 0
	case l.until == forever && !l.starved:
		return -1
	case l.starved:
		return int(grain / time.Millisecond)
	}
	return int(max(l.until-l.now, 0)/time.Millisecond) + 1
}

// resolve finds the pairs that n events are for and, when it is time, those that
// are idle. It is false when the loop was closed.
func (l *loop) resolve(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.events[:n] {
		e := &l.events[i]
		l.pairs[i] = nil
		switch {
		case e.Fd <= doorEvent:
			l.doors[doorEvent-e.Fd].knock = true
		case e.Fd == bellEvent:
			var count [8]byte
			_, _ = unix.Read(l.bell, count[:])
		default:
			if p := l.slots[e.Fd>>1]; p != nil && p.age == e.Pad {
				l.pairs[i] = p
			}
		}
	}
	l.open, l.idle = l.doors, l.idle[:0]
	if l.now >= l.until {
		l.until = l.lookForIdle()
	}
	return !l.closed
}

// lookForIdle returns when to look again.
func (l *loop) lookForIdle() time.Duration {
	next := forever
	for _, p := range l.slots {
		if p == nil {
			continue
		}
		next = min(next, l.now+nap)
		if p.idle > 0 {
			next = min(next, max(p.last+p.idle, l.now+grain))
			if p.last+p.idle <= l.now {
				l.idle = append(l.idle, p)
			}
		}
	}
	return next
}

// handle does what the events on one side's socket allow.
func (l *loop) handle(p *pair, side int, events uint32) {
	in, out := &p.flows[side], &p.flows[side^1]
	broken := events&unix.EPOLLERR != 0
	in.hup = in.hup || broken || events&(unix.EPOLLRDHUP|unix.EPOLLHUP) != 0
	if p.door != nil {
		l.greet(p)
		return
	}
	if p.dials && side == origin && !broken {
		p.connected()
		p.last = l.now
	}
	if events&unix.EPOLLOUT != 0 && out.size > 0 {
		l.move(out)
	}
	switch {
	case p.over || events&^uint32(unix.EPOLLOUT) == 0:
	case broken && (in.done || in.size > 0): // no read will tell
		l.end(p, p.failed(in.from, unix.ECONNRESET))
	case !in.done && !in.queued && in.size == 0:
		l.move(in)
	}
}

// end closes a pair.
func (l *loop) end(p *pair, err error) {
	p.over = true
	for i := range p.flows {
		l.release(&p.flows[i])
	}
	p.close(err)
	l.mu.Lock()
	l.leave(p)
	l.mu.Unlock()
	if p.tell != nil {
		p.tell(p.counts(), err)
	}
}

// ring wakes the loop. The caller holds the lock.
func (l *loop) ring() {
	_, _ = unix.Write(l.bell, binary.NativeEndian.AppendUint64(nil, 1))
}

// close has the loop end its pairs and itself.
func (l *loop) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.ring()
	}
}

// shut gives back the loop's own descriptors.
func (l *loop) shut() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pool.shut()
	for _, d := range l.doors {
		_ = unix.Close(d.fd)
	}
	_ = unix.Close(l.bell)
	_ = unix.Close(l.epoll)
}
