package inside

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Bounds of what is carried on the sentry's loopback at once.
const (
	maxLed     = 512 // connections
	maxQueries = 256
	asked      = 15 * time.Second // longer than the gate takes for an answer
)

// lead carries what comes to the gate's ports on the sentry's loopback to the gate. It is
// needed where the sentry has a network stack of its own: its loopback is not that of the
// namespace in which the gate stands. Nothing is decided here. Where the gate refuses it is
// gone for good, and nobody answers on the loopback either.
func lead(c *plan.Capture) error {
	if c == nil {
		return nil
	}
	led, queries := make(chan struct{}, maxLed), make(chan struct{}, maxQueries)
	for _, way := range []struct{ from, to netip.Addr }{{netip.AddrFrom4([4]byte{127, 0, 0, 1}), c.Gate.V4}, {netip.IPv6Loopback(), c.Gate.V6}} {
		if way.from.Is6() && !sys.HaveIPv6() {
			continue
		}
		for _, l := range c.Listen {
			at, to := netip.AddrPortFrom(way.from, uint16(l.Port)), netip.AddrPortFrom(way.to, uint16(l.Port))
			if l.Network == "udp" {
				conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
				if err != nil {
					return err
				}
				go leadQueries(conn, to, queries)
				continue
			}
			listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
			if err != nil {
				return err
			}
			go leadConns(listener, to, led)
		}
	}
	return nil
}

func leadConns(l *net.TCPListener, to netip.AddrPort, places chan struct{}) {
	for {
		places <- struct{}{}
		c, err := l.AcceptTCP()
		if err != nil {
			<-places
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // too many files are open, perhaps
			continue
		}
		go func() {
			defer func() { <-places }()
			out, err := net.DialTCP("tcp", nil, net.TCPAddrFromAddrPort(to))
			if err != nil {
				cut(c)
				over(l, err)
				return
			}
			defer made.carried(c, out)()
			carry(c, out)
		}()
	}
}

// over closes what listens for a gate that is no longer there.
func over(l io.Closer, err error) {
	if errors.Is(err, unix.ECONNREFUSED) {
		l.Close()
	}
}

// half is one of the two connections that are carried to each other.
type half interface {
	io.ReadWriteCloser
	CloseWrite() error
}

// carry moves bytes both ways until both have ended. What fails on one side is reset on
// the other.
func carry(a, b half) {
	back := make(chan struct{})
	go func() {
		defer close(back)
		move(a, b)
	}()
	move(b, a)
	<-back
	a.Close()
	b.Close()
}

func move(to, from half) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, werr := to.Write(buf[:n]); werr != nil {
				return // nobody takes it; what is still to come back is left alone
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			to.CloseWrite()
			return
		case err != nil:
			cut(to)
			return
		}
	}
}

// cut resets a connection.
func cut(c half) {
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}

// leadQueries carries datagrams that are answered by one: those of DNS.
func leadQueries(conn *net.UDPConn, to netip.AddrPort, places chan struct{}) {
	buf := make([]byte, 64<<10)
	for {
		n, from, err := conn.ReadFromUDPAddrPort(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		select {
		case places <- struct{}{}:
		default:
			continue // lost, as on any network
		}
		query := append([]byte(nil), buf[:n]...)
		go func() {
			defer func() { <-places }()
			answer, err := ask(query, to)
			if err != nil {
				over(conn, err)
				return
			}
			conn.WriteToUDPAddrPort(answer, from)
		}()
	}
}

func ask(query []byte, to netip.AddrPort) ([]byte, error) {
	c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
	if err != nil {
		return nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(asked))
	if _, err := c.Write(query); err != nil {
		return nil, err
	}
	buf := make([]byte, 64<<10)
	n, err := c.Read(buf)
	return buf[:n], err
}
