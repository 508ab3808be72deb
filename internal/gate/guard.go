package gate

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
)

// guard says why an address must not be dialled, whatever name led to it. It is
// asked immediately before each dial, about the very address that is dialled.
func (g *Gate) guard(a netip.Addr, port uint16) error {
	if what, closed := address.Closed(a); closed && !mutated("range") {
		if _, ok := g.rules.prefix(a, port); !ok {
			return fmt.Errorf("the address is %s", what)
		}
	}
	own, err := g.own.local(a)
	switch {
	case err != nil:
		return fmt.Errorf("whose address it is cannot be told: %w", err)
	case own && !mutated("own"):
		return errors.New("the address is the host's own")
	}
	return nil
}

// kernel asks the host's kernel where an address leads. That is better than a list
// of the interfaces' addresses: it knows of every local route, at this moment.
type kernel struct {
	mu sync.Mutex
	fd int // 0: not open yet
	id uint32
}

// local reports whether packets to a would be delivered on this host, or to more
// than one.
func (k *kernel) local(a netip.Addr) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.fd == 0 {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
		if err != nil {
			return false, err
		}
		// The kernel answers at once; this is against a bug, not for waiting.
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2})
		k.fd = fd
	}
	k.id++
	if err := unix.Sendto(k.fd, routeQuestion(a, k.id), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return false, err
	}
	buf := make([]byte, 4096)
	for {
		n, _, err := unix.Recvfrom(k.fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, err
		}
		if kind, ok, err := routeAnswer(buf[:n], k.id); ok || err != nil {
			return kind != unix.RTN_UNICAST && kind != unix.RTN_UNREACHABLE && kind != unix.RTN_BLACKHOLE && kind != unix.RTN_PROHIBIT, err
		}
	}
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
	ne.PutUint16(b[head+rtmsg:], uint16(attr+len(dst)))
	ne.PutUint16(b[head+rtmsg+2:], unix.RTA_DST)
	copy(b[head+rtmsg+attr:], dst)
	return b
}

// routeAnswer reads the type of the route. ok is false for an answer to an earlier
// question.
func routeAnswer(b []byte, id uint32) (kind byte, ok bool, err error) {
	ne := binary.NativeEndian
	if len(b) < unix.NLMSG_HDRLEN+unix.SizeofRtMsg || ne.Uint32(b[8:]) != id {
		if len(b) < unix.NLMSG_HDRLEN+4 {
			return 0, false, errors.New("a netlink answer is cut")
		}
		if ne.Uint32(b[8:]) != id {
			return 0, false, nil
		}
	}
	switch ne.Uint16(b[4:]) {
	case unix.NLMSG_ERROR:
		errno := unix.Errno(-int32(ne.Uint32(b[unix.NLMSG_HDRLEN:])))
		if errno == unix.ENETUNREACH || errno == unix.EHOSTUNREACH || errno == unix.EACCES {
			return unix.RTN_UNREACHABLE, true, nil // dialling it will say the same
		}
		return 0, false, errno
	case unix.RTM_NEWROUTE:
		return b[unix.NLMSG_HDRLEN+7], true, nil
	}
	return 0, false, fmt.Errorf("unexpected netlink message %d", ne.Uint16(b[4:]))
}
