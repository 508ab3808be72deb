package probe

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// datagrams wants UDP to any foreign address refused at once: a client that hears
// nothing waits. All addresses are local to the namespace, so what is not refused
// arrives at a socket of our own, which stands for whoever would have got it.
func (t *NetTarget) datagrams(name string) Result {
	if c, err := net.Dial("udp", t.Datagram.String()); err == nil {
		c.Write([]byte("ringfence")) // for the witness: nobody hears it there
		c.Close()
	}
	l, err := net.ListenUDP("udp", nil)
	if err != nil {
		return open(name, "%v", err)
	}
	defer l.Close()
	var ways []way
	for _, a := range t.Foreign {
		ways = append(ways, way{a.String(), func() error { return t.deliver(l, a) }})
	}
	return t.judge(name, ways)
}

// deliver sends one datagram and returns an error if it was refused.
func (t *NetTarget) deliver(l *net.UDPConn, to netip.Addr) error {
	if to.Is6() && !t.six {
		return errNoIPv6
	}
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, l.LocalAddr().(*net.UDPAddr).AddrPort().Port())))
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("ringfence")); err != nil {
		return err // the refusal may be here already
	}
	const moment = 200 * time.Millisecond
	l.SetReadDeadline(time.Now().Add(moment))
	if _, err := l.Read(make([]byte, 16)); err == nil {
		return nil
	}
	c.SetReadDeadline(time.Now().Add(moment))
	_, err = c.Read(make([]byte, 16))
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &beyond{err} // neither refused nor delivered: a client would wait
	}
	return err
}

// raw wants no socket that makes packets of its own.
func (t *NetTarget) raw(name string) Result {
	var ways []way
	for _, s := range []struct {
		what                string
		family, kind, proto int
		want                error
	}{
		{"packet socket", unix.AF_PACKET, unix.SOCK_RAW, 0, unix.EAFNOSUPPORT},
		{"packet socket without headers", unix.AF_PACKET, unix.SOCK_DGRAM, 0, unix.EAFNOSUPPORT},
		{"raw IPv4", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW, unix.EPERM},
		{"raw IPv6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_RAW, unix.EPERM},
	} {
		ways = append(ways, way{s.what, func() error {
			if s.family == unix.AF_INET6 && !t.six {
				return errNoIPv6
			}
			fd, err := unix.Socket(s.family, s.kind|unix.SOCK_CLOEXEC, s.proto)
			if err == nil {
				return unix.Close(fd)
			}
			if !errors.Is(err, s.want) {
				return &beyond{err}
			}
			return err
		}})
	}
	return t.judge(name, ways)
}
