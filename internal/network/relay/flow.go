package relay

import (
	"io"

	"golang.org/x/sys/unix"
)

const (
	chunk = 16 << 10  // one read through a buffer; one that fills it makes the flow bulk
	large = 512 << 10 // one splice through a pipe; half of it is slower, twice of it not faster
	turns = 8         // of one flow before others have theirs
)

// move carries bytes until one side has none or takes none. A flow that could go
// on is put behind the others.
func (l *loop) move(f *flow) {
	for range turns {
		drained, err := false, error(nil)
		if f.size == 0 {
			drained, err = l.fetch(f)
		}
		if err == nil {
			err = l.flush(f)
		}
		switch {
		case err == io.EOF:
			l.carryEnd(f)
			return
		case err != nil && err != errAgain:
			l.end(f.pair, err)
			return
		case err != nil || drained && !f.hup:
			return
		}
	}
	f.queued = true
	l.again = append(l.again, f)
}

// fetch reads once and reports whether that was all there is for now. errAgain
// means that there was nothing, EOF that it is over.
func (l *loop) fetch(f *flow) (drained bool, err error) {
	var n int
	if f.bulk && f.inspect == nil {
		f.pipe = l.takePipe()
	}
	if f.pipe != nil {
		n, err = splice(f.from, f.pipe.w, large)
	} else {
		f.buf = l.takeBuffer()
		n, err = recv(f.from, f.buf)
		f.held, drained = f.buf[:n], n < chunk
	}
	f.size, f.bulk = n, n >= chunk
	switch {
	case n == 0 && err == nil:
		err = io.EOF
	case err != nil && err != errAgain:
		err = f.pair.failed(f.from, err)
	case n > 0 && f.pipe == nil:
		err = f.look(f.held)
	}
	if err != nil {
		l.release(f)
	}
	return drained, err
}

// flush writes what is on its way. errAgain means that there was no room for all
// of it.
func (l *loop) flush(f *flow) error {
	for f.size > 0 {
		var n int
		var err error
		if f.pipe != nil {
			n, err = splice(f.pipe.r, f.to, f.size)
		} else {
			n, err = send(f.to, f.held)
		}
		if err == errAgain {
			return err
		}
		if err != nil {
			return f.pair.failed(f.to, err)
		}
		if f.pipe == nil {
			f.held = f.held[n:]
		}
		f.size -= n
		f.moved += int64(n)
		f.pair.last = l.now
	}
	l.release(f)
	return nil
}

// release gives back what the flow has borrowed.
func (l *loop) release(f *flow) {
	if f.pipe != nil {
		l.givePipe(f.pipe, f.size == 0)
	}
	if f.buf != nil {
		l.giveBuffer(f.buf)
	}
	f.pipe, f.buf, f.held, f.size = nil, nil, nil, 0
}

// carryEnd tells the other side that no more bytes come.
func (l *loop) carryEnd(f *flow) {
	f.done = true
	switch {
	case f.pair.flows[client].done && f.pair.flows[origin].done:
		l.end(f.pair, nil)
	case f.broken: // a reset right behind the end: the event that told of both was this one
		l.end(f.pair, f.pair.failed(f.from, unix.ECONNRESET))
	default:
		_ = unix.Shutdown(f.to, unix.SHUT_WR) // if the peer is gone, the other direction will say so
	}
}
