package netns

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// Network is the captured network of a sandbox on this kernel, as the supervisor has it.
type Network struct {
	pid    int // of the first process inside, on the host
	ports  []rung.Port
	socket func(ipv6 bool) (*os.File, error)

	mu      sync.Mutex
	packets int    // a socket that tells of datagrams; -1: there is none
	answer  []byte // see room
	diag    int    // a socket of the sandbox's network that says whose a connection is; -1: there is none
	id      uint32
	search  sys.Search // on the host
}

// Socket is a descriptor of the network, by its name.
type Socket struct {
	Name string
	File *os.File
}

// Hold takes the sockets at which a network ends. socket makes one more inside.
func Hold(pid int, sockets []Socket, socket func(ipv6 bool) (*os.File, error)) (*Network, error) {
	n := &Network{pid: pid, socket: socket, diag: -1, packets: -1}
	var err error
	for _, s := range sockets {
		if err == nil {
			err = n.hold(s)
		}
		s.File.Close() // what is held is a copy
	}
	if err != nil {
		n.Close()
		for _, p := range n.ports {
			p.Close()
		}
		return nil, err
	}
	return n, nil
}

func (n *Network) hold(s Socket) (err error) {
	p := rung.Port{Name: s.Name}
	switch s.Name {
	case Diag:
		return holdNetlink(s, &n.diag)
	case Packets:
		return holdNetlink(s, &n.packets)
	case UDPResolver:
		var c net.PacketConn
		if c, err = net.FilePacketConn(s.File); err == nil {
			p.Packets = c.(*net.UDPConn)
		}
	default:
		var l net.Listener
		if l, err = net.FileListener(s.File); err == nil {
			p.Listen = Listener{l.(*net.TCPListener)}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	n.ports = append(n.ports, p)
	return nil
}

// holdNetlink keeps a copy of a socket of which there is one.
func holdNetlink(s Socket, to *int) error {
	if *to >= 0 {
		return fmt.Errorf("there are two sockets of the name %q", s.Name)
	}
	fd, err := unix.FcntlInt(s.File.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 1})
	*to = fd
	return nil
}

// Ports are the sockets at which the gate stands.
func (n *Network) Ports() []rung.Port { return n.ports }

// Close ends the questions.
func (n *Network) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, fd := range []*int{&n.diag, &n.packets} {
		if *fd >= 0 {
			unix.Close(*fd)
		}
		*fd = -1
	}
}

// Dial connects to a server inside, on either loopback. The sockets towards it are made
// inside the sandbox's network: there is no other way in.
func (n *Network) Dial(port uint16) (rung.Conn, error) {
	err := errors.New("no address")
	for _, a := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		var f *os.File
		if f, err = n.socket(a.Is6()); err != nil {
			continue
		}
		if err = connectFile(f, netip.AddrPortFrom(a, port)); err == nil {
			var c net.Conn
			if c, err = net.FileConn(f); err == nil {
				f.Close()
				return Conn{c.(*net.TCPConn)}, nil
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
