package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// connect tries addresses of the form unix:PATH, abstract:NAME, tcp:HOST:PORT.
// A pathname must be absent; an abstract name and a port of our own loopback have
// nobody behind them. Any other address leads to the gate, which accepts every
// connection and resets what it does not let through: that somebody accepts proves
// nothing there, so the service is spoken to.
func connect(args []string) int {
	var tried []attempt
	for _, a := range args {
		conn, err := dial(a)
		if err == nil {
			err = speak(conn)
			conn.Close()
		}
		tried = append(tried, attempt{name: a, err: err})
		if strings.HasPrefix(a, "unix:") && err != nil && describe(err) == "ECONNREFUSED" {
			// A dead socket shows that the host's directory is in sight.
			tried[len(tried)-1].err = unix.EADDRINUSE
		}
	}
	return report(tried, unix.ENOENT, unix.ECONNREFUSED, unix.ENETUNREACH, unix.ECONNRESET, unix.EPIPE)
}

// speak says something that the services of the suite answer by closing in peace.
func speak(conn net.Conn) error {
	conn.SetDeadline(time.Now().Add(wait.Patience))
	if _, err := fmt.Fprintln(conn, "hello"); err != nil {
		return err
	}
	_, err := io.ReadAll(conn)
	return err
}

// order speaks to a service manager as systemd-run does: it asks for a command to
// be run on its behalf, outside.
func order(args []string) int {
	if len(args) < 2 {
		usage("order ADDRESS WORD...")
	}
	conn, err := dial(args[0])
	if err == nil {
		conn.SetDeadline(time.Now().Add(wait.Patience))
		fmt.Fprintln(conn, strings.Join(args[1:], " "))
		_, err = io.ReadAll(conn) // it closes when it is done
	}
	return report([]attempt{{name: args[0], err: err}}, unix.ENOENT, unix.ECONNREFUSED)
}

func dial(address string) (net.Conn, error) {
	kind, rest, _ := strings.Cut(address, ":")
	switch kind {
	case "unix":
		return net.DialTimeout("unix", rest, wait.Patience)
	case "abstract":
		return net.DialTimeout("unix", "@"+rest, wait.Patience)
	case "tcp", "udp":
		return net.DialTimeout(kind, rest, wait.Patience)
	}
	usage("address " + address)
	return nil, nil
}

// family is a way to make a socket that an agent has no use for.
type family struct {
	name            string
	domain, typ, pr int
}

// sockets tries families that lead out of the namespace or into rarely walked
// parts of the kernel. Kernels differ in what they were built with, so only what
// is open is told.
func sockets([]string) int {
	return inNamespaces(unix.CLONE_NEWUSER|unix.CLONE_NEWNET, trySockets)
}

func trySockets() int {
	var tried []attempt
	for _, f := range []family{
		{"AF_PACKET", unix.AF_PACKET, unix.SOCK_RAW, 0},
		{"AF_INET/SOCK_PACKET", unix.AF_INET, unix.SOCK_PACKET, 0},
		{"AF_ALG", unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{"AF_VSOCK", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{"AF_KEY", unix.AF_KEY, unix.SOCK_RAW, 2},
		{"AF_XDP", unix.AF_XDP, unix.SOCK_RAW, 0},
		{"AF_BLUETOOTH", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1},
		{"AF_CAN", unix.AF_CAN, unix.SOCK_RAW, 1},
		{"AF_TIPC", unix.AF_TIPC, unix.SOCK_DGRAM, 0},
		{"AF_RDS", unix.AF_RDS, unix.SOCK_SEQPACKET, 0},
		{"AF_SMC", unix.AF_SMC, unix.SOCK_STREAM, 0},
		{"AF_QIPCRTR", unix.AF_QIPCRTR, unix.SOCK_DGRAM, 0},
		{"AF_IPX", unix.AF_IPX, unix.SOCK_DGRAM, 0},
		{"AF_APPLETALK", unix.AF_APPLETALK, unix.SOCK_DGRAM, 0},
		{"AF_X25", unix.AF_X25, unix.SOCK_SEQPACKET, 0},
		{"beyond the last", 10000, unix.SOCK_DGRAM, 0},
	} {
		if err := open(f); err == nil {
			tried = append(tried, attempt{name: f.name})
		}
	}
	if len(tried) == 0 {
		fmt.Println("closed families EAFNOSUPPORT")
	}
	return report(tried)
}

// netlink tries the protocols of netlink that ordinary users may open, but for
// the one that lists interfaces and routes.
func netlink([]string) int {
	var tried []attempt
	for _, f := range []family{
		{"NETLINK_USERSOCK", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_USERSOCK},
		{"NETLINK_KOBJECT_UEVENT", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT},
		{"NETLINK_GENERIC", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_GENERIC},
	} {
		tried = append(tried, attempt{name: f.name, err: open(f)})
	}
	return report(tried, unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT, unix.EPERM)
}

// raw tries sockets that write their own headers. Outside, a user namespace with
// a network of its own is all it takes.
func raw([]string) int {
	return inNamespaces(unix.CLONE_NEWUSER|unix.CLONE_NEWNET, func() int {
		var tried []attempt
		for _, f := range []family{
			{"icmp", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP},
			{"any", unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_RAW},
			{"icmp6", unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6},
			{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0x300},
		} {
			tried = append(tried, attempt{name: f.name, err: open(f)})
		}
		return report(tried, unix.EPERM, unix.EAFNOSUPPORT, unix.EPROTONOSUPPORT)
	})
}

func open(f family) error {
	fd, err := unix.Socket(f.domain, f.typ|unix.SOCK_CLOEXEC, f.pr)
	if err == nil {
		unix.Close(fd)
	}
	return err
}
