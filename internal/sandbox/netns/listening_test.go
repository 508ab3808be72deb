package netns

import (
	"net"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// TestListening: servers of both families are told while they listen, and nobody who is
// connected; without a socket to ask, proc tells the same.
func TestListening(t *testing.T) {
	diag, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(diag)
	for _, at := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		server, client := uint16(l.Addr().(*net.TCPAddr).Port), uint16(c.LocalAddr().(*net.TCPAddr).Port)
		for name, n := range map[string]*Network{"asked": {pid: os.Getpid(), diag: diag}, "proc": {pid: os.Getpid(), diag: -1}} {
			if ports := n.Listening(); !slices.Contains(ports, server) || slices.Contains(ports, client) {
				t.Errorf("%s, %s: %d listens, %d does not: %v", at, name, server, client, ports)
			}
		}
		c.Close()
		l.Close()
		if ports := (&Network{diag: diag}).Listening(); slices.Contains(ports, server) {
			t.Errorf("%s: %d listens no longer: %v", at, server, ports)
		}
	}
}

func FuzzReadListeners(f *testing.F) {
	f.Add([]byte("\x10\x00\x00\x00\x03\x00\x00\x00\x07\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x18\x00\x00\x00\x14\x00\x02\x00\x07\x00\x00\x00\x00\x00\x00\x00\x02\x0a\x00\x00\x1f\x90\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		told := 0
		readListeners(b, 7, func(uint16) { told++ })
		if told > len(b)/(unix.NLMSG_HDRLEN+6) {
			t.Errorf("%d ports in %d bytes", told, len(b))
		}
	})
}
