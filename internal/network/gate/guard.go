package gate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
)

// guard knows which addresses must not be dialled, whatever name led to them. It is
// asked immediately before each dial, about the very address that is dialled.
type guard struct {
	rules *rules
	own   kernel
}

// refuses says why an address must not be dialled.
func (g *guard) refuses(a netip.Addr, port uint16) error {
	if d, denied := g.rules.deniedAddress(a, port); denied {
		return fmt.Errorf("a rule denies the address (%s)", d.Text)
	}
	if what, closed := address.Closed(a); closed && !mutated("range") {
		if _, ok := g.rules.prefix(a, port); !ok {
			return fmt.Errorf("the address is %s", what)
		}
	}
	where, err := g.own.where(a)
	switch {
	case err != nil:
		return fmt.Errorf("whose address it is cannot be told: %w", err)
	case where == ownAddress && !mutated("own"):
		return errors.New("the address is the host's own")
	case where == ownLink:
		// A neighbour may have a public address: every device of a home network has
		// one of IPv6.
		if _, ok := g.rules.prefix(a, port); !ok {
			return errors.New("the address is on the host's own network")
		}
	}
	return nil
}

// Where packets to an address would go.
const (
	elsewhere  = iota
	ownAddress // to this host, or to more than one
	ownLink    // to a neighbour, without a router between
)

// kernel asks the host's kernel where an address leads. That is better than a list
// of the interfaces' addresses: it knows of every local route, at this moment.
type kernel struct {
	mu sync.Mutex
	fd int // 0: not open yet
	id uint32
}

// where asks for the route that the kernel would choose.
func (k *kernel) where(a netip.Addr) (int, error) {
	if a.IsUnspecified() {
		return ownAddress, nil // connect takes it for loopback; the table only knows a default route
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fd == 0 {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
		if err != nil {
			return 0, err
		}
		// The kernel answers at once; this is against a bug, not for waiting.
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2})
		k.fd = fd
	}
	k.id++
	if err := unix.Sendto(k.fd, routeQuestion(a, k.id), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, err
	}
	buf := make([]byte, 4096)
	for {
		n, _, err := unix.Recvfrom(k.fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		r, ok, err := routeAnswer(buf[:n], k.id)
		if err != nil {
			return 0, err
		}
		if ok {
			return r.where(), nil
		}
	}
}

// route is what matters of an entry of the routing table.
type route struct {
	kind     byte
	bits     byte // length of the prefix; 0 is a default route
	router   bool // packets go through one
	outgoing int  // interface
}

func (r route) where() int {
	switch r.kind {
	case unix.RTN_UNREACHABLE, unix.RTN_BLACKHOLE, unix.RTN_PROHIBIT:
		return elsewhere // dialling it will say the same
	case unix.RTN_UNICAST:
	default:
		return ownAddress
	}
	if r.router || r.bits == 0 {
		return elsewhere
	}
	// A tunnel to elsewhere has no router either, and no neighbours.
	if i, err := net.InterfaceByIndex(r.outgoing); err == nil && i.Flags&(net.FlagPointToPoint|net.FlagLoopback) != 0 {
		return elsewhere
	}
	return ownLink
}

func (k *kernel) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fd != 0 {
		unix.Close(k.fd)
		k.fd = 0
	}
}

// routeQuestion is RTM_GETROUTE for one address.
func routeQuestion(a netip.Addr, id uint32) []byte {
	dst := a.AsSlice()
	const head, rtmsg, attr = unix.NLMSG_HDRLEN, unix.SizeofRtMsg, unix.SizeofRtAttr
	b := make([]byte, head+rtmsg+attr+len(dst))
	ne := binary.NativeEndian
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], unix.RTM_GETROUTE)
	ne.PutUint16(b[6:], unix.NLM_F_REQUEST)
	ne.PutUint32(b[8:], id)
	b[head] = unix.AF_INET
	if a.Is6() {
		b[head] = unix.AF_INET6
	}
	b[head+1] = byte(a.BitLen())
	ne.PutUint32(b[head+8:], unix.RTM_F_FIB_MATCH) // the entry itself, not what is made of it
	ne.PutUint16(b[head+rtmsg:], uint16(attr+len(dst)))
	ne.PutUint16(b[head+rtmsg+2:], unix.RTA_DST)
	copy(b[head+rtmsg+attr:], dst)
	return b
}

// nextHopID names a next hop that is kept apart (RTA_NH_ID).
const nextHopID = 30

// routeAnswer reads an entry. ok is false for an answer to an earlier question.
func routeAnswer(b []byte, id uint32) (r route, ok bool, err error) {
	ne := binary.NativeEndian
	const head, rtmsg, attr = unix.NLMSG_HDRLEN, unix.SizeofRtMsg, unix.SizeofRtAttr
	if len(b) < head+4 {
		return r, false, errors.New("a netlink answer is cut")
	}
	if ne.Uint32(b[8:]) != id {
		return r, false, nil
	}
	switch ne.Uint16(b[4:]) {
	case unix.NLMSG_ERROR:
		errno := unix.Errno(-int32(ne.Uint32(b[head:])))
		if errno == unix.ENETUNREACH || errno == unix.EHOSTUNREACH || errno == unix.EACCES {
			return route{kind: unix.RTN_UNREACHABLE}, true, nil
		}
		return r, false, errno
	case unix.RTM_NEWROUTE:
	default:
		return r, false, fmt.Errorf("unexpected netlink message %d", ne.Uint16(b[4:]))
	}
	if len(b) < head+rtmsg {
		return r, false, errors.New("a netlink answer is cut")
	}
	r.kind, r.bits = b[head+7], b[head+1]
	for rest := b[head+rtmsg:]; len(rest) >= attr; {
		size := int(ne.Uint16(rest))
		if size < attr || size > len(rest) {
			break
		}
		switch ne.Uint16(rest[2:]) {
		case unix.RTA_GATEWAY, unix.RTA_VIA, unix.RTA_MULTIPATH, nextHopID:
			r.router = true
		case unix.RTA_OIF:
			if size >= attr+4 {
				r.outgoing = int(ne.Uint32(rest[attr:]))
			}
		}
		rest = rest[min((size+3)&^3, len(rest)):]
	}
	return r, true, nil
}
