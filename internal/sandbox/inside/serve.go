package inside

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// connects is how long a server on the sentry's loopback may take to accept.
const connects = 2 * time.Second

// dial connects the socket that came with an order to a server on the sentry's loopback,
// which nobody outside can reach, and says what became of it.
func dial(conn *wire.Conn, m wire.Message, fds []int) {
	answer := wire.Message{Kind: wire.Dial, ID: m.ID}
	near, far, err := reach(m.Port, fds)
	if err != nil {
		answer.Failure = &wire.Failure{Step: "dial", Text: err.Error()}
	}
	if serr := conn.Send(answer); serr != nil || err != nil {
		return
	}
	carry(near, far)
}

func reach(port uint16, fds []int) (near, far half, err error) {
	if len(fds) != 1 {
		closeAll(fds)
		return nil, nil, fmt.Errorf("%d descriptors came", len(fds))
	}
	f := os.NewFile(uintptr(fds[0]), "published")
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, nil, err
	}
	stream, ok := c.(*net.UnixConn)
	if !ok {
		c.Close()
		return nil, nil, fmt.Errorf("a %T came", c)
	}
	for _, a := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		var server net.Conn
		if server, err = net.DialTimeout("tcp", netip.AddrPortFrom(a, port).String(), connects); err == nil {
			return stream, server.(*net.TCPConn), nil
		}
	}
	c.Close()
	return nil, nil, err
}

// servers says where somebody listens.
func servers(conn *wire.Conn, m wire.Message) {
	conn.Send(wire.Message{Kind: wire.Servers, ID: m.ID, Servers: sys.Listeners("/proc/net")})
}
