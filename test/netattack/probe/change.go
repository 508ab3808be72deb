package probe

import (
	"encoding/binary"
	"errors"
	"io"
	"net"

	"golang.org/x/sys/unix"
)

// change asks the kernel to change something of the network that is as it was
// afterwards.
func change(what string) Answer {
	var err error
	switch what {
	case "netfilter":
		var fd int
		if fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER); err == nil {
			unix.Close(fd)
		}
	case "mtu":
		err = sameMTU()
	case "low port":
		var l net.Listener
		if l, err = net.Listen("tcp", "127.0.0.9:809"); err == nil {
			l.Close()
		}
	case "route message":
		if err = route(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL); err == nil {
			err = route(unix.RTM_DELROUTE, 0)
		}
	}
	if err != nil {
		return Answer{End: ended(err)}
	}
	return Answer{Done: true}
}

// sameMTU sets the loopback's size of packets to what it is.
func sameMTU() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFMTU, r); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFMTU, r)
}

// route adds or removes an unreachable route to an address that nobody uses.
func route(kind, flags uint16) error {
	c, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(c)
	const size = 16 + 12 + 8
	b := make([]byte, size)
	ne := binary.NativeEndian
	ne.PutUint32(b, size)
	ne.PutUint16(b[4:], kind)
	ne.PutUint16(b[6:], flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	copy(b[16:], []byte{unix.AF_INET, 32, 0, 0, unix.RT_TABLE_MAIN, unix.RTPROT_STATIC, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNREACHABLE})
	ne.PutUint16(b[28:], 8)
	ne.PutUint16(b[30:], unix.RTA_DST)
	copy(b[32:], []byte{203, 0, 113, 251})
	if err := unix.Sendto(c, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(c, answer, 0)
	if err != nil || n < 20 {
		return errors.Join(err, io.ErrUnexpectedEOF)
	}
	if errno := -int32(ne.Uint32(answer[16:])); errno != 0 {
		return unix.Errno(errno)
	}
	return nil
}
