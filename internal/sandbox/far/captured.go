package far

import (
	"errors"
	"io"
	"net"
	"net/netip"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/link"
	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// takeNet relays what the sandbox's network captures. Nothing is decided here.
func (t *there) takeNet(n rung.Net) error {
	t.mu.Lock()
	t.net = n
	t.mu.Unlock()
	for _, p := range n.Ports() {
		if p.Listen != nil {
			go t.accept(p)
		}
	}
	return nil
}

// accept opens a stream for each connection.
func (t *there) accept(p rung.Port) {
	for {
		accepted, err := p.Listen.Accept()
		if err != nil {
			return
		}
		c, ok := accepted.(rung.Conn)
		if !ok {
			accepted.Close()
			continue
		}
		go t.captured(p.Name, c)
	}
}

func (t *there) captured(port string, c rung.Conn) {
	to, err := addrOf(c.LocalAddr()), error(nil)
	if port == netns.TCP {
		to, err = c.Original() // who connected to the port itself has none
	}
	var s *link.Stream
	if err == nil {
		s, err = t.link.Open(link.Conn{Port: port, From: unmap(addrOf(c.RemoteAddr())), To: unmap(to)})
	}
	if err != nil {
		c.SetLinger(0)
		c.Close()
		return
	}
	carry(s, c)
}

func addrOf(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		return t.AddrPort()
	}
	return netip.AddrPort{} // it was reset before anybody looked
}

// carry relays a connection and its stream until both directions have ended. A reset on
// either side is one on the other.
func carry(s *link.Stream, c rung.Conn) {
	if socket := c.Socket(); socket != nil { // its other end is in the sandbox, on this machine
		if raw, err := socket.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { sys.TuneLocal(int(fd)) })
		}
	}
	go func() { // near has closed it: nobody takes what is sent from here
		s.Unheard()
		c.CloseRead()
	}()
	up := make(chan struct{})
	go func() {
		defer close(up)
		send(s, c)
	}()
	if _, err := s.WriteTo(c); err != nil {
		s.Reset(link.Gone)
		c.SetLinger(0)
		c.Close()
	} else {
		c.CloseWrite()
	}
	<-up
	c.Close()
	s.Close()
}

// send carries what a connection sends. If nobody takes it any more, what is still to come
// for the connection is left alone.
func send(s *link.Stream, c rung.Conn) {
	buf := make([]byte, link.MaxCopy)
	for {
		n, err := c.Read(buf)
		if n > 0 {
			if _, err := s.Write(buf[:n]); err != nil {
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			s.CloseWrite()
			return
		case err != nil:
			s.Reset(link.Gone)
			return
		}
	}
}

// dial connects to a server inside.
func (t *there) dial(s *link.Stream, port uint16) {
	t.mu.Lock()
	n := t.net
	t.mu.Unlock()
	if n == nil {
		s.Reset(link.Refused)
		return
	}
	c, err := n.Dial(port)
	if err != nil {
		s.Reset(link.Refused)
		return
	}
	if _, err := s.Write([]byte{link.Connected}); err != nil {
		c.SetLinger(0)
		c.Close()
		s.Close()
		return
	}
	carry(s, c)
}

// datagrams relays those of one port. It has a socket for each family of addresses.
func (t *there) datagrams(s *link.Stream, port string) {
	defer s.Close()
	var sockets [2]rung.Packets // for IPv4, for others
	t.mu.Lock()
	n := t.net
	t.mu.Unlock()
	if n == nil {
		return
	}
	both := link.Packets{Stream: s}
	for _, p := range n.Ports() {
		if p.Name != port || p.Packets == nil {
			continue
		}
		defer p.Packets.Close()
		if at, ok := p.Packets.(interface{ LocalAddr() net.Addr }); ok {
			sockets[family(at.LocalAddr().(*net.UDPAddr).AddrPort())] = p.Packets
		}
		go func() {
			buf := make([]byte, link.MaxDatagram)
			for {
				size, from, err := p.Packets.ReadFromUDPAddrPort(buf)
				if err != nil {
					return
				}
				if _, err := both.WriteToUDPAddrPort(buf[:size], from); err != nil {
					return
				}
			}
		}()
	}
	buf := make([]byte, link.MaxDatagram)
	for {
		size, to, err := both.ReadFromUDPAddrPort(buf)
		if err != nil {
			return
		}
		if socket := sockets[family(to)]; socket != nil {
			socket.WriteToUDPAddrPort(buf[:size], to)
		}
	}
}

func family(a netip.AddrPort) int {
	if a.Addr().Unmap().Is4() {
		return 0
	}
	return 1
}
