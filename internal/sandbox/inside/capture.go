package inside

import (
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// port is a socket of this namespace that goes to the supervisor.
type port struct {
	name string
	fd   int
}

// Capture raises the network of a plan where somebody else starts the first process inside,
// and hands its sockets out.
func Capture(c *plan.Capture, conn *wire.Conn) error {
	ports, err := capture(c)
	if err != nil {
		report(conn, err)
		return err
	}
	m, fds := wire.Message{Kind: wire.Hold}, []int{}
	for _, p := range ports {
		m.Ports, fds = append(m.Ports, p.name), append(fds, p.fd)
	}
	defer closeAll(fds)
	return conn.Send(m, fds...)
}

// capture makes this namespace's network end at the gate, and returns the sockets
// at which it ends. The messages were built outside; here they are only sent, while
// we still may. Ports come last: nothing listens before the rules stand.
func capture(c *plan.Capture) ([]port, error) {
	if err := loopbackUp(); err != nil || c == nil {
		return nil, err
	}
	ports, err := endAtGate(c)
	if err != nil {
		return nil, &step{"gate", err}
	}
	return ports, nil
}

func endAtGate(c *plan.Capture) ([]port, error) {
	six := haveIPv6()
	for i, route := range c.Routes {
		if i > 0 && !six {
			break // the routes are those of IPv4 and IPv6, in this order
		}
		if err := exchange(unix.NETLINK_ROUTE, route); err != nil {
			return nil, fmt.Errorf("local default route: %w", err)
		}
	}
	if err := exchange(unix.NETLINK_NETFILTER, c.Rules); err != nil {
		return nil, fmt.Errorf("nftables: %w", err)
	}
	var out []port
	for _, l := range c.Listen {
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			if family == unix.AF_INET6 && !six {
				continue
			}
			fd, err := listen(family, l)
			if err != nil {
				return nil, fmt.Errorf("listen on %s port %d: %w", l.Network, l.Port, err)
			}
			out = append(out, port{l.Name, fd})
		}
	}
	// Lets the supervisor ask who owns a connection. It answers questions about
	// this namespace alone and changes nothing.
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("socket diagnosis: %w", err)
	}
	return append(out, port{"diag", fd}), nil
}

// haveIPv6 asks for what a client would need. A kernel without it has nothing to
// capture.
func haveIPv6() bool {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	return unix.Bind(fd, &unix.SockaddrInet6{Addr: [16]byte{15: 1}}) == nil
}

// backlog is how many connections may wait for the gate; the kernel cuts it to
// somaxconn.
const backlog = 4096

func listen(family int, l plan.Listen) (int, error) {
	kind := map[string]int{"tcp": unix.SOCK_STREAM, "udp": unix.SOCK_DGRAM}[l.Network]
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	var at unix.Sockaddr = &unix.SockaddrInet4{Port: l.Port, Addr: [4]byte{127, 0, 0, 1}}
	if family == unix.AF_INET6 {
		at = &unix.SockaddrInet6{Port: l.Port, Addr: [16]byte{15: 1}}
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return -1, err
	}
	if err := unix.Bind(fd, at); err != nil {
		return -1, err
	}
	if l.Network == "udp" {
		return fd, nil
	}
	return fd, unix.Listen(fd, backlog)
}

// exchange sends netlink messages and waits for every answer they ask for. The
// kernel answers in the sending thread, so there is nothing to wait for long.
func exchange(protocol int, msgs []byte) error {
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
