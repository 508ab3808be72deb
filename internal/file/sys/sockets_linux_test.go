package sys

import (
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSocketInode: it is the number that the kernel has for the socket, in both families and
// for both ends of a connection.
func TestSocketInode(t *testing.T) {
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err) // the gate needs both families on the loopback, too
		}
		defer l.Close()
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		f, err := c.(*net.TCPConn).File()
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		from, to := c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort()
		if got := SocketInode("/proc/self/net", from, to); got != st.Ino {
			t.Errorf("%s: %d, want %d", at, got, st.Ino)
		}
		if got := SocketInode("/proc/self/net", from, netip.AddrPortFrom(to.Addr(), 1)); got != 0 {
			t.Errorf("%s: another end has the socket %d", at, got)
		}
	}
}
