package dns

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Handler answers a Question that came from an address by "udp" or "tcp". It is
// called from many goroutines. It may take long, for it may wait for a person, but
// holds one of the places for queries meanwhile, also when the client has given
// up: how long it waits is for it to bound. It returns when ctx is done.
type Handler func(ctx context.Context, q Question, via string, from netip.AddrPort) Answer

// Server serves queries. It may serve several sockets; the bounds are for each.
type Server struct {
	Handler Handler

	limits limits // zero is the default
}

type limits struct {
	handlers int           // queries over UDP that are being answered
	line     int           // queries over UDP that wait for their turn
	wait     time.Duration // and for how long
	conns    int           // connections
	idle     time.Duration // for a client to send a whole query, or to take a reply
	udp      int           // bytes of a reply over UDP
}

func (l limits) orDefault() limits {
	return limits{
		handlers: cmp.Or(l.handlers, 64),
		line:     cmp.Or(l.line, 256),
		wait:     cmp.Or(l.wait, 100*time.Millisecond),
		conns:    cmp.Or(l.conns, 64),
		idle:     cmp.Or(l.idle, 10*time.Second),
		udp:      cmp.Or(l.udp, MaxUDP),
	}
}

// The ways by which a query comes.
const (
	viaUDP = "udp"
	viaTCP = "tcp"
)

// sender is the address that the Handler sees: an IPv4 address is one also where
// it comes in by an IPv6 socket.
func sender(from netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
}

// patience counts failures in a row of a socket that is not closed. Want of memory or
// descriptors passes, however long it takes; after many others the socket is given up.
type patience int

const (
	patienceEnd   = 100
	patiencePause = 20 * time.Millisecond
)

// spent waits a moment and reports whether to give up.
func (p *patience) spent(err error) bool {
	for _, want := range []error{unix.EMFILE, unix.ENFILE, unix.ENOBUFS, unix.ENOMEM} {
		if errors.Is(err, want) {
			*p = 0
		}
	}
	*p++
	if *p == patienceEnd || errors.Is(err, net.ErrClosed) {
		return true
	}
	time.Sleep(patiencePause)
	return false
}
