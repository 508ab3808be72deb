package relay

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
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
	fd    int
	knock bool // there may be somebody
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
	for _, l := range e.loops {
		if err := l.add(listener, s); err != nil {
			return fmt.Errorf("serve: %w", err)
		}
	}
	return nil
}

// add has the loop wait for connections, too. One of the loops is woken for each.
func (l *loop) add(listener int, s Service) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	fd, err := unix.FcntlInt(uintptr(listener), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return err
	}
	e := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLET | unix.EPOLLEXCLUSIVE, Fd: doorEvent - int32(len(l.doors))}
	l.doors = append(l.doors, &door{Service: s, fd: fd})
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &e)
}

// knocked reports whether a door can be answered at once.
func (l *loop) knocked() bool {
	return !l.starved && slices.ContainsFunc(l.open, func(d *door) bool { return d.knock })
}

// answer accepts who is at the doors. Without descriptors or memory for them, they
// stay where they are.
func (l *loop) answer() {
	l.starved = false
	for _, d := range l.open {
		for i := 0; d.knock && i < turns; i++ {
			fd, err := accept(d.fd)
			switch err {
			case nil:
				p := newPair(fd)
				p.door, p.last, p.idle = d, l.now, d.Patience
				l.greet(p)
			case errAgain:
				d.knock = false
			case unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM:
				l.starved = true
				return
			}
		}
	}
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
		l.hold(p)
	case v.Do == Take && p.door.Take != nil:
		l.hand(p)
	default:
		l.end(p, ErrRefused)
	}
}

// hold waits for more bytes.
func (l *loop) hold(p *pair) {
	if p.flows[client].size == 0 {
		l.release(&p.flows[client])
	}
	l.mu.Lock()
	err := l.enter(p)
	l.mu.Unlock()
	if err != nil {
		l.end(p, err)
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
	p.tell = v.Ended
	fd, err := connect(v.To, up.size > 0)
	if err != nil {
		l.end(p, fmt.Errorf("origin: %w", err))
		return
	}
	p.join(fd, v.Options)
	p.last, p.idle, p.door, p.dials = l.now, p.door.Dial, nil, true
	switch {
	case int64(up.size) > up.bound:
		err = ErrBudget
	case up.size == 0:
		up.blocked = true // room comes with the connection
	default:
		if err = l.flush(up); err == nil {
			p.connected()
		}
	}
	if err == nil || err == errAgain {
		l.mu.Lock()
		err = l.enter(p)
		l.mu.Unlock()
	}
	if err != nil {
		l.end(p, err)
	}
}

// connected ends the time for dialling.
func (p *pair) connected() {
	p.dials, p.idle = false, p.calm
}

// late is the error of a pair that took too long.
func (p *pair) late() error {
	if p.dials {
		return ErrDial
	}
	return ErrIdle
}
