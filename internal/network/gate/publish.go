package gate

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/relay"
)

// Publish carries what connects to l, on the host's loopback, to a port inside. The
// sockets towards it are made inside the sandbox's network: there is no other way in.
func (g *Gate) Publish(l *net.TCPListener, inside uint16, socket func(ipv6 bool) (*os.File, error)) {
	g.sockets.listen(l)
	g.tasks.Go(func() {
		g.accept(l, func(c *net.TCPConn) { g.published(c, inside, socket) })
	})
}

func (g *Gate) published(c *net.TCPConn, port uint16, socket func(ipv6 bool) (*os.File, error)) {
	r := journal.Record{Event: journal.Decision, Conn: g.calls.Add(1), Via: "publish", Protocol: string(address.TCP), Addr: "inside", Port: port,
		Verdict: journal.Allow, Rule: "publish " + portText(port)}
	to, err := enter(port, socket)
	if err != nil {
		r.Reason = "nothing listens inside"
	}
	if g.records.write(r) != nil || err != nil {
		if to != nil {
			reset(to)
		}
		reset(c)
		return
	}
	n, _ := g.engine.pair(c, to, relay.Options{Idle: idle})
	// Seen from inside: what comes in was sent by the host.
	r.Event, r.Sent, r.Received = journal.End, n.Received, n.Sent
	g.records.write(r)
}

// enter connects to a server inside, on either loopback.
func enter(port uint16, socket func(ipv6 bool) (*os.File, error)) (*net.TCPConn, error) {
	err := errors.New("no address")
	for _, a := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		var f *os.File
		if f, err = socket(a.Is6()); err != nil {
			continue
		}
		if err = connectFile(f, netip.AddrPortFrom(a, port)); err == nil {
			var c net.Conn
			if c, err = net.FileConn(f); err == nil {
				f.Close()
				return c.(*net.TCPConn), nil
			}
		}
		f.Close()
	}
	return nil, err
}

// connectFile connects a socket that does not block.
func connectFile(f *os.File, to netip.AddrPort) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	ctl := raw.Control(func(fd uintptr) { err = connectFD(int(fd), to) })
	return errors.Join(err, ctl)
}

func connectFD(fd int, to netip.AddrPort) error {
	var sa unix.Sockaddr = &unix.SockaddrInet4{Port: int(to.Port()), Addr: [4]byte{127, 0, 0, 1}}
	if to.Addr().Is6() {
		sa = &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
	}
	err := unix.Connect(fd, sa)
	if err == nil || !errors.Is(err, unix.EINPROGRESS) {
		return err
	}
	deadline := time.Now().Add(2 * time.Second)
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return unix.ETIMEDOUT
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, int(left.Milliseconds())+1)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return err
		}
		if n > 0 {
			break
		}
	}
	errno, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && errno != 0 {
		err = unix.Errno(errno)
	}
	return err
}
