// Package relay moves bytes between two TCP sockets, the client's and the origin's,
// for many pairs of them at once.
//
// A few threads wait with epoll for all sockets of all pairs. Small messages go
// through a buffer, bulk is spliced through a pipe and never enters this process.
// Both are borrowed while bytes are on their way, so an idle pair costs two
// descriptors and a few hundred bytes. Carried over besides bytes: the end of one
// direction, and a reset. Not carried over: urgent data, options of the sockets,
// the sizes of writes.
//
// Left at risk: a peer that takes no bytes holds one buffer or pipe for each
// direction until the idle time is over. How many connections there may be is the
// caller's to bound.
package relay

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
)

// How a pair ends if not by its two sides. Both sockets are reset then.
var (
	ErrIdle   = errors.New("no byte for too long")
	ErrClosed = errors.New("the relay is closed")
	ErrCut    = errors.New("it was cut")
)

// Options of one pair.
type Options struct {
	First []byte        // goes to the origin first: what the caller has read from the client
	Idle  time.Duration // no byte in either direction for this long ends the pair; 0 means no bound
	// Inspect sees all that goes to the origin, before it does; an error of its own
	// ends the pair. Such bytes are not spliced. It is called on a thread of the
	// engine and must not block. nil: nobody looks.
	Inspect func([]byte) error
	Hold    *Hold // lets somebody else end an engine's pair; nil: nobody does
}

// Counts are bytes that the sockets took.
type Counts struct {
	Sent     int64 // to the origin
	Received int64 // to the client
}

// Engine relays. It is safe for concurrent use.
type Engine struct {
	loops []*loop
	next  atomic.Uint32
}

// New starts an engine. On a small machine it has one thread: more would take the
// processors away from the two ends.
func New() (*Engine, error) {
	return start(min(max(runtime.GOMAXPROCS(0)/2, 1), 4))
}

func start(threads int) (*Engine, error) {
	e := &Engine{}
	for range threads {
		l, err := newLoop()
		if err != nil {
			e.Close()
			return nil, fmt.Errorf("start relay: %w", err)
		}
		e.loops = append(e.loops, l)
		go l.run()
	}
	return e, nil
}

// Close resets all pairs and waits until that is done.
func (e *Engine) Close() {
	for _, l := range e.loops {
		l.close()
	}
	for _, l := range e.loops {
		<-l.ended
	}
}

// Pair relays between two connections until both directions have ended or one side
// failed. They are the engine's from the call on, and closed when it returns.
func (e *Engine) Pair(client, origin *net.TCPConn, o Options) (Counts, error) {
	near := loopback(origin)
	c, cerr := detach(client)
	s, serr := detach(origin)
	sys.TuneLocal(c) // the client is always on this machine
	if near {
		sys.TuneLocal(s)
	}
	p := newPair(c, s, o)
	err := errors.Join(cerr, serr)
	if err == nil && o.Hold.Gone() {
		err = ErrCut
	}
	if err == nil {
		err = p.send(o.First)
	}
	l := e.loops[int(e.next.Add(1))%len(e.loops)]
	if err == nil {
		err = l.enter(p)
	}
	if err != nil {
		p.close(err)
		return p.counts(), err
	}
	o.Hold.has(l, p)
	<-p.ended
	return p.counts(), p.failure
}

func loopback(c *net.TCPConn) bool {
	to, ok := c.RemoteAddr().(*net.TCPAddr)
	return ok && to.IP.IsLoopback()
}

// detach takes the socket out of the hands of Go's poller, which would wake one
// more thread for each event. The connection is closed.
func detach(c *net.TCPConn) (int, error) {
	fd := -1
	raw, err := c.SyscallConn()
	if err == nil {
		cerr := raw.Control(func(s uintptr) {
			fd, err = unix.FcntlInt(s, unix.F_DUPFD_CLOEXEC, 0)
		})
		err = errors.Join(err, cerr)
	}
	if err != nil {
		_ = c.SetLinger(0)
		err = fmt.Errorf("detach %s: %w", c.RemoteAddr(), err)
	}
	_ = c.Close()
	return fd, err
}
