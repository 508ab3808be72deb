package relay

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Service says what becomes of the connections that a listener gets.
type Service struct {
	// Decide is called on a thread of the engine and must not block. It is called
	// for each new connection and, as long as it says Wait, again when more bytes
	// have come. first is all that the client has sent, at first often nothing; it
	// is valid during the call, as is the socket, which is only to be asked about.
	Decide func(client int, first []byte) Verdict

	// Take gets the connections for which Decide says so, in a goroutine of their
	// own, with the bytes that were read. Without it they are refused.
	Take func(client *net.TCPConn, first []byte)

	Max      int           // connections at once, without those taken; more wait to be accepted
	Patience time.Duration // a client for which Decide waits longer is reset
	Dial     time.Duration // an origin that does not answer by then is given up
}

// Action is what to do with a connection.
type Action int

const (
	Wait   Action = iota // more bytes are needed; a client that sends no more is left to Take
	Relay                // dial To and relay
	Take                 // leave it to Take
	Refuse               // reset it
)

// Verdict is what Decide decides. All but Do is for Relay.
type Verdict struct {
	Do      Action
	To      netip.AddrPort
	Options                     // First is not used: what Decide has seen goes first
	Ended   func(Counts, error) // called on a thread of the engine; must not block
}

// door is a listener of a loop.
type door struct {
	Service
	fd     int
	knock  bool          // there may be somebody
	inside *atomic.Int64 // connections, over all loops
}

// Serve accepts connections from a listening socket until the engine is closed. The
// descriptor is the engine's from the call on.
func (e *Engine) Serve(listener int, s Service) error {
	defer unix.Close(listener)
	tuneLocal(listener) // what it accepts inherits that
	_ = unix.SetsockoptInt(listener, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if err := unix.SetNonblock(listener, true); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	inside := new(atomic.Int64)
	for _, l := range e.loops {
		fd, err := unix.FcntlInt(uintptr(listener), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			err = l.add(&door{Service: s, fd: fd, inside: inside})
		}
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	return nil
}

// add has the loop wait for connections, too. One of the loops is woken for each.
func (l *loop) add(d *door) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		_ = unix.Close(d.fd)
		return ErrClosed
	}
	l.doors = append(l.doors, d)
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET | unix.EPOLLEXCLUSIVE, Fd: doorEvent - int32(len(l.doors)-1)}
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, d.fd, &e)
}

// answer accepts who is at the doors. If there is no place, no descriptor or no
// memory for them, it looks again a little later.
func (l *loop) answer() {
	l.knocks = -1
	for _, d := range l.open {
		for i := 0; d.knock && l.knocks < 0; i++ {
			if !d.enter() {
				l.knocks = 10
				break
			}
			fd, err := accept(d.fd)
			if err != nil {
				d.inside.Add(-1)
			}
			switch {
			case err == errAgain:
				d.knock = false
			case err != nil && err != unix.ECONNABORTED:
				l.knocks = 10
			case err == nil:
				l.welcome(d, fd)
			}
			if i == turns {
				l.knocks = 0
			}
		}
	}
}

// enter takes a place before the connection is accepted: two loops that only looked
// whether there is one would both find the last.
func (d *door) enter() bool {
	if n := d.inside.Add(1); d.Max > 0 && n > int64(d.Max) {
		d.inside.Add(-1)
		return false
	}
	return true
}

// welcome starts the time in which a client has to say what it wants.
func (l *loop) welcome(d *door, fd int) {
	p := newPair(fd)
	p.door, p.guest, p.last, p.idle = d, true, l.now, d.Patience
	l.greet(p)
}

// greet reads what a new client sends and does what Decide says. The bytes wait in
// the flow to the origin: what was judged is what is sent.
func (l *loop) greet(p *pair) {
	f := &p.flows[client]
	if f.buf == nil {
		f.buf = l.takeBuffer()
	}
	n, err := 1, error(nil)
	for again := true; again && n > 0 && f.size < len(f.buf); again = f.hup {
		n, err = recv(f.from, f.buf[f.size:])
		f.size += n
	}
	if err != nil && err != errAgain {
		l.end(p, p.failed(f.from, err))
		return
	}
	last := n == 0 && err == nil
	f.held = f.buf[:f.size]
	v := p.door.Decide(f.from, f.held)
	if v.Do == Wait && (last || f.size == len(f.buf)) {
		v.Do = Take
	}
	switch {
	case v.Do == Relay:
		l.dial(p, v)
	case v.Do == Wait:
		if f.size == 0 {
			l.release(f)
		}
		if err := l.enter(p); err != nil {
			l.end(p, err)
		}
	case v.Do == Take && p.door.Take != nil:
		l.hand(p)
	default:
		l.end(p, ErrRefused)
	}
}

// hand leaves a connection to a goroutine.
func (l *loop) hand(p *pair) {
	f := &p.flows[client]
	fd, take, first := f.from, p.door.Take, slices.Clone(f.held)
	if f.watched {
		_ = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_DEL, fd, nil)
	}
	f.from = -1 // not closed with the pair
	l.end(p, nil)
	go func() {
		file := os.NewFile(uintptr(fd), "client")
		c, err := net.FileConn(file)
		_ = file.Close()
		if err == nil {
			take(c.(*net.TCPConn), first)
		}
	}()
}

// dial starts the relay. On this machine an origin answers within the call.
func (l *loop) dial(p *pair, v Verdict) {
	up := &p.flows[client]
	more := up.hup || up.size == len(up.buf) // of which no event will tell
	p.tell = v.Ended
	fd, err := connect(v.To, up.size > 0)
	if err != nil {
		l.end(p, fmt.Errorf("origin: %w", err))
		return
	}
	p.join(fd, v.Options)
	p.guest, p.dials, p.idle, p.last = false, true, p.door.Dial, l.now
	if err = up.look(up.held); err == nil && int64(up.size) > up.bound {
		err = ErrBudget
	}
	if err == nil {
		if err = l.flush(up); err == nil && up.moved > 0 {
			p.connected(l.now)
		}
	}
	if err == nil || err == errAgain {
		err = l.enter(p)
	}
	if err != nil {
		l.end(p, err)
	} else if more && up.size == 0 {
		l.move(up)
	}
}
