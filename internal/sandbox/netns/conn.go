package netns

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"
)

// Conn is a connection of a network on this kernel.
type Conn struct{ *net.TCPConn }

// Listener accepts such connections.
type Listener struct{ *net.TCPListener }

// Accept implements net.Listener.
func (l Listener) Accept() (net.Conn, error) {
	c, err := l.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return Conn{c}, nil
}

// Socket implements rung.Conn.
func (c Conn) Socket() *net.TCPConn { return c.TCPConn }

// Original implements rung.Conn. Who connected to the gate's own port gets an error.
func (c Conn) Original() (to netip.AddrPort, err error) {
	ctl := c.control(func(fd int) { to, err = originalDestination(fd) })
	return to, errors.Join(err, ctl)
}

// Unread implements rung.Conn: what is on its way is in nobody's hands but the kernel's.
func (c Conn) Unread(most time.Duration) {
	c.control(func(fd int) {
		unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(most.Milliseconds()))
	})
}

// Sent implements rung.Conn.
func (c Conn) Sent() (ago time.Duration, known bool) {
	c.control(func(fd int) {
		if info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			ago, known = time.Duration(info.Last_data_sent)*time.Millisecond, true
		}
	})
	return ago, known
}

func (c Conn) control(f func(fd int)) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	return raw.Control(func(fd uintptr) { f(int(fd)) })
}

// originalDestination asks the kernel where a redirected connection was going.
func originalDestination(fd int) (netip.AddrPort, error) {
	sa, err := unix.Getsockname(fd)
	if err != nil {
		return netip.AddrPort{}, err
	}
	var local, was netip.AddrPort
	switch sa := sa.(type) {
	case *unix.SockaddrInet4:
		local = netip.AddrPortFrom(netip.AddrFrom4(sa.Addr), uint16(sa.Port))
		was, err = original4(fd)
	case *unix.SockaddrInet6:
		local = netip.AddrPortFrom(netip.AddrFrom16(sa.Addr), uint16(sa.Port))
		was, err = original6(fd)
	default:
		err = fmt.Errorf("unexpected address %T", sa)
	}
	if err == nil && was == local {
		err = errors.New("it was meant for the gate itself")
	}
	return was, err
}

// originalSO is SO_ORIGINAL_DST and its namesake of IPv6. Package unix has no name for
// what they answer with, but others of that size.
const originalSO = 80

func original4(fd int) (netip.AddrPort, error) {
	r, err := unix.GetsockoptIPv6Mreq(fd, unix.IPPROTO_IP, originalSO)
	if err != nil {
		return netip.AddrPort{}, err
	}
	b := r.Multiaddr // a sockaddr_in: family, port, address
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), binary.BigEndian.Uint16(b[2:])), nil
}

func original6(fd int) (netip.AddrPort, error) {
	r, err := unix.GetsockoptIPv6MTUInfo(fd, unix.IPPROTO_IPV6, originalSO)
	if err != nil {
		return netip.AddrPort{}, err
	}
	port := r.Addr.Port // in network order; both machines we build for are little-endian
	return netip.AddrPortFrom(netip.AddrFrom16(r.Addr.Addr), port<<8|port>>8), nil
}
