package inside

import (
	"fmt"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
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
	if err := sys.Routes(c.Routes); err != nil {
		return nil, fmt.Errorf("local default route: %w", err)
	}
	if len(c.Rules) > 0 {
		if err := sys.Netlink(unix.NETLINK_NETFILTER, c.Rules); err != nil {
			return nil, fmt.Errorf("nftables: %w", err)
		}
	}
	var out []port
	for _, l := range c.Listen {
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			if family == unix.AF_INET6 && !sys.HaveIPv6() {
				continue
			}
			fd, err := listen(family, l, c.Gate)
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
	out = append(out, port{"diag", fd})
	if len(c.Rules) == 0 {
		return out, nil
	}
	// And for which datagrams it rejected. Without a capability it tells nothing.
	if fd, err = unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_NETFILTER); err != nil {
		return nil, fmt.Errorf("rejected packets: %w", err)
	}
	return append(out, port{"packets", fd}), nil
}

// backlog is how many connections may wait for the gate; the kernel cuts it to
// somaxconn.
const backlog = 4096

func listen(family int, l plan.Listen, gate plan.Gate) (int, error) {
	kind := map[string]int{"tcp": unix.SOCK_STREAM, "udp": unix.SOCK_DGRAM}[l.Network]
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	level, free := unix.IPPROTO_IP, unix.IP_FREEBIND
	var at unix.Sockaddr = &unix.SockaddrInet4{Port: l.Port, Addr: gate.V4.As4()}
	if family == unix.AF_INET6 {
		at, level, free = &unix.SockaddrInet6{Port: l.Port, Addr: gate.V6.As16()}, unix.IPPROTO_IPV6, unix.IPV6_FREEBIND
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return -1, err
	}
	// The address of a link is there when the other end of it is.
	if err := unix.SetsockoptInt(fd, level, free, 1); err != nil {
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
