package sys

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Routes sends messages of rtnetlink for IPv4 and IPv6, in this order: the second only
// where the kernel has it.
func Routes(both [][]byte) error {
	for i, msgs := range both {
		if i > 0 && !HaveIPv6() {
			break
		}
		if err := Netlink(unix.NETLINK_ROUTE, msgs); err != nil {
			return err
		}
	}
	return nil
}

// HaveIPv6 asks for what a client would need. It wants the loopback to be up.
func HaveIPv6() bool {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrInet6{Addr: [16]byte{15: 1}}) == nil
}

// Netlink sends messages to the kernel and waits for every answer they ask for. The
// kernel answers in the sending thread, so there is nothing to wait for long.
func Netlink(protocol int, msgs []byte) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, msgs, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	want, err := acknowledged(msgs)
	if err != nil {
		return err
	}
	buf := make([]byte, 16<<10)
	for want > 0 {
		n, _, err := unix.Recvfrom(fd, buf, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		got, err := answers(buf[:n])
		if err != nil {
			return err
		}
		want -= got
	}
	return nil
}

// acknowledged counts the messages that ask for an answer.
func acknowledged(msgs []byte) (n int, err error) {
	return n, eachMessage(msgs, func(typ, flags uint16, _ []byte) error {
		if flags&unix.NLM_F_ACK != 0 {
			n++
		}
		return nil
	})
}

// answers counts acknowledgements and returns the first error among them.
func answers(msgs []byte) (n int, err error) {
	return n, eachMessage(msgs, func(typ, _ uint16, body []byte) error {
		if typ != unix.NLMSG_ERROR || len(body) < 4 {
			return fmt.Errorf("unexpected netlink message %d", typ)
		}
		n++
		if errno := int32(binary.NativeEndian.Uint32(body)); errno != 0 {
			return unix.Errno(-errno)
		}
		return nil
	})
}

func eachMessage(b []byte, do func(typ, flags uint16, body []byte) error) error {
	for len(b) > 0 {
		if len(b) < unix.NLMSG_HDRLEN {
			return errors.New("a netlink message is cut")
		}
		size := int(binary.NativeEndian.Uint32(b))
		if size < unix.NLMSG_HDRLEN || size > len(b) {
			return errors.New("a netlink message is cut")
		}
		if err := do(binary.NativeEndian.Uint16(b[4:]), binary.NativeEndian.Uint16(b[6:]), b[unix.NLMSG_HDRLEN:size]); err != nil {
			return err
		}
		b = b[min((size+3)&^3, len(b)):]
	}
	return nil
}
