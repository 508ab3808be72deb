package relay

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// tick is how often idle times are looked at, and how exact they are.
const tick = time.Second

// What an event carries is the slot and the side of a pair, and its age. This one is
// for the bell.
const bellEvent = -1

// loop is one thread and the pairs that it serves.
type loop struct {
	pool
	epoll  int
	bell   int // an eventfd
	start  time.Time
	now    time.Duration // since start, as of the last wait
	looked time.Duration // when idle times were looked at
	events [128]unix.EpollEvent
	pairs  [128]*pair // that the events are for
	again  []*flow    // that can go on without an event
	turn   []*flow    // again of the last round
	idle   []*pair    // that are so, it seems
	cut    []*pair    // that somebody else wants ended
	ended  chan struct{}

	mu     sync.Mutex
	slots  []*pair
	doomed []*pair // to be ended, by somebody else's word
	free   []int32
	age    int32
	closed bool
}

func newLoop() (*loop, error) {
	l := &loop{start: time.Now(), ended: make(chan struct{})}
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

// enter has the loop watch the sockets of a pair. The loop is woken by that: a socket
// can be written at first. The lock is held for all of it: the loop must not end the
// pair in between.
func (l *loop) enter(p *pair) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	if len(l.free) == 0 {
		l.free = append(l.free, int32(len(l.slots)))
		l.slots = append(l.slots, nil)
	}
	l.age++
	p.in, p.age, p.slot = true, l.age, l.free[len(l.free)-1]
	l.free = l.free[:len(l.free)-1]
	l.slots[p.slot] = p
	p.last = time.Since(l.start)
	for side := range p.flows {
		f := &p.flows[side]
		e := unix.EpollEvent{
			Events: unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET,
			Fd:     p.slot<<1 | int32(side),
			Pad:    p.age,
		}
		if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, f.from, &e); err != nil {
			l.leave(p)
			return err
		}
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

// serve waits once and handles what came. It is false when the loop was closed.
func (l *loop) serve() bool {
	n, err := unix.EpollWait(l.epoll, l.events[:], l.patience())
	if err != nil {
		n = 0 // EINTR; nothing else happens to a valid epoll
	}
	l.now = time.Since(l.start)
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
	for _, p := range l.cut {
		if !p.over {
			l.end(p, ErrCut)
		}
	}
	for _, p := range l.idle {
		if !p.over && p.last+p.idle <= l.now {
			l.end(p, ErrIdle)
		}
	}
	return true
}

// patience is how long to wait, in milliseconds.
func (l *loop) patience() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case len(l.again) > 0:
		return 0
	case len(l.free) == len(l.slots):
		return -1
	}
	return int(tick / time.Millisecond)
}

// resolve finds the pairs that n events are for and, when it is time, those that
// seem idle.
func (l *loop) resolve(n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.events[:n] {
		e := &l.events[i]
		l.pairs[i] = nil
		if e.Fd == bellEvent {
			l.hush()
		}
		if e.Fd != bellEvent && l.slots[e.Fd>>1] != nil && l.slots[e.Fd>>1].age == e.Pad {
			l.pairs[i] = l.slots[e.Fd>>1]
		}
	}
	l.cut, l.doomed = append(l.cut[:0], l.doomed...), l.doomed[:0]
	l.idle = l.idle[:0]
	if l.now-l.looked >= tick {
		l.looked = l.now
		for _, p := range l.slots {
			if p != nil && p.idle > 0 && p.last+p.idle <= l.now {
				l.idle = append(l.idle, p)
			}
		}
	}
	return !l.closed
}

// handle does what the events on one side's socket allow.
func (l *loop) handle(p *pair, side int, events uint32) {
	in, out := &p.flows[side], &p.flows[side^1]
	broken := events&unix.EPOLLERR != 0
	in.broken = in.broken || broken
	in.hup = in.hup || broken || events&(unix.EPOLLRDHUP|unix.EPOLLHUP) != 0
	readable := events&^uint32(unix.EPOLLOUT) != 0
	if events&unix.EPOLLOUT != 0 && out.size > 0 {
		l.move(out)
	}
	switch {
	case p.over || !readable:
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
	p.failure = err
	close(p.ended)
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
	_ = unix.Close(l.bell)
	_ = unix.Close(l.epoll)
}
