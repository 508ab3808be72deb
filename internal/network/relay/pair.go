package relay

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// The sides of a pair.
const (
	client = iota
	origin
)

// pair is two sockets and the two flows between them. Once entered, only its loop
// touches it, until ended is closed.
type pair struct {
	flows   [2]flow // by the side that is read
	slot    int32
	age     int32 // tells its events from those of an earlier pair in the same slot
	in      bool  // has a slot
	over    bool
	last    time.Duration
	idle    time.Duration // the pair ends when so much time has passed since last
	failure error
	ended   chan struct{}
}

// flow is one direction of a pair.
type flow struct {
	pair     *pair
	from, to int
	moved    int64
	size     int // bytes on their way: in pipe if there is one, else in held
	held     []byte
	buf      []byte // the borrowed buffer that held is part of
	pipe     *pipe
	bulk     bool
	inspect  func([]byte) error
	hup      bool // an end or an error comes behind the bytes
	broken   bool // the one behind is an error
	queued   bool // is in the loop's list
	done     bool // the end was carried over
}

func newPair(c, o int, options Options) *pair {
	p := &pair{idle: options.Idle, ended: make(chan struct{})}
	p.flows[client] = flow{pair: p, from: c, to: o, inspect: options.Inspect}
	p.flows[origin] = flow{pair: p, from: o, to: c}
	return p
}

func (p *pair) counts() Counts {
	return Counts{Sent: p.flows[client].moved, Received: p.flows[origin].moved}
}

// send sends the first bytes. What the origin does not take at once is left for the
// loop to send.
func (p *pair) send(first []byte) error {
	f := &p.flows[client]
	if len(first) == 0 {
		return nil
	}
	if err := f.look(first); err != nil {
		return err
	}
	n, err := send(f.to, first)
	if err != nil && err != errAgain {
		return p.failed(f.to, err)
	}
	f.moved, f.held, f.size = int64(n), first[n:], len(first)-n
	return nil
}

// look shows bytes to whoever inspects them.
func (f *flow) look(b []byte) error {
	if f.inspect == nil {
		return nil
	}
	return f.inspect(b)
}

// failed says on which side a call failed.
func (p *pair) failed(fd int, err error) error {
	if fd == p.flows[client].from {
		return fmt.Errorf("client: %w", err)
	}
	return fmt.Errorf("origin: %w", err)
}

// close closes both sockets; after an error so that their peers see a reset.
func (p *pair) close(err error) {
	for i := range p.flows {
		fd := p.flows[i].from
		if fd < 0 {
			continue
		}
		if err != nil {
			_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
		}
		_ = unix.Close(fd)
	}
}
