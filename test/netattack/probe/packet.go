package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// moment is how long a reply is waited for that may never come.
const moment = 300 * time.Millisecond

// Packet is one datagram of UDP.
type Packet struct {
	To        string // ADDRESS:PORT
	Data      []byte
	Broadcast bool
}

// send sends the datagram and waits a moment for what comes back, if only the news
// that nobody takes it.
func (p *Packet) send() Answer {
	to, err := netip.ParseAddrPort(p.To)
	if err != nil {
		return Answer{End: err.Error()}
	}
	d := net.Dialer{}
	if p.Broadcast {
		d.Control = func(_, _ string, c syscall.RawConn) error {
			return c.Control(func(fd uintptr) { unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1) })
		}
	}
	conn, err := d.Dial("udp", net.JoinHostPort(withZone(to.Addr()).String(), fmt.Sprint(to.Port())))
	if err != nil {
		return Answer{End: ended(err), Text: err.Error()}
	}
	defer conn.Close()
	if _, err := conn.Write(p.Data); err != nil {
		return Answer{End: ended(err)}
	}
	conn.SetDeadline(time.Now().Add(moment))
	buf := make([]byte, 2048)
	n, err := conn.Read(buf)
	if err != nil {
		return Answer{End: ended(err)}
	}
	return Answer{Got: buf[:n], End: Enough}
}

// Ask is a question to a resolver.
type Ask struct {
	Server string // ADDRESS:PORT; "" is what resolv.conf says
	TCP    bool
	Bytes  []byte // the message, however malformed
	Frame  []byte // over TCP: instead of the length before the message
	Brief  bool   // there may well be no reply
}

func (q *Ask) ask(ctx context.Context) Answer {
	server := q.Server
	if server == "" {
		server = net.JoinHostPort(nameserver(), "53")
	}
	network := "udp"
	if q.TCP {
		network = "tcp"
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, network, server)
	if err != nil {
		return Answer{End: ended(err)}
	}
	defer conn.Close()
	if q.Brief {
		conn.SetDeadline(time.Now().Add(moment))
	} else if deadline, ok := ctx.Deadline(); ok {
		conn.SetDeadline(deadline)
	}
	if !q.TCP {
		return exchange(conn, q.Bytes)
	}
	frame := q.Frame
	if frame == nil {
		frame = binary.BigEndian.AppendUint16(nil, uint16(len(q.Bytes)))
	}
	if _, err := conn.Write(append(frame, q.Bytes...)); err != nil {
		return Answer{End: ended(err)}
	}
	var size [2]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return Answer{End: ended(err)}
	}
	msg := make([]byte, binary.BigEndian.Uint16(size[:]))
	if _, err := io.ReadFull(conn, msg); err != nil {
		return Answer{End: ended(err)}
	}
	return Answer{Got: msg, End: Enough}
}

func exchange(conn net.Conn, msg []byte) Answer {
	if _, err := conn.Write(msg); err != nil {
		return Answer{End: ended(err)}
	}
	buf := make([]byte, 65536)
	n, err := conn.Read(buf)
	if err != nil {
		return Answer{End: ended(err)}
	}
	return Answer{Got: buf[:n], End: Enough}
}

func nameserver() string {
	b, _ := os.ReadFile("/etc/resolv.conf")
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "nameserver" {
			return f[1]
		}
	}
	return "127.0.0.1"
}

// Socket is one of a rare kind. Of those that connect, Done says that the other side
// was heard; of the others that a packet was sent.
type Socket struct {
	Family, Type, Proto int
	To                  string // ADDRESS:PORT
	Data                []byte
	Flags               int  // of sending
	Fast                bool // send with the first packet
}

func (s *Socket) open() Answer {
	fd, err := unix.Socket(s.Family, s.Type|unix.SOCK_CLOEXEC, s.Proto)
	if err != nil {
		return Answer{End: ended(err), Text: "socket"}
	}
	defer unix.Close(fd)
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 2})
	unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 2})
	to := sockaddr(s.To)
	if s.Type == unix.SOCK_RAW || s.Type == unix.SOCK_DGRAM {
		err := unix.Sendto(fd, s.Data, s.Flags, to)
		if err != nil {
			return Answer{End: ended(err), Text: "send"}
		}
		return Answer{Done: true}
	}
	if s.Fast {
		err = unix.Sendto(fd, s.Data, unix.MSG_FASTOPEN, to)
	} else if err = unix.Connect(fd, to); err == nil && len(s.Data) > 0 {
		err = unix.Sendto(fd, s.Data, s.Flags, nil)
	}
	if err != nil && !errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EINTR) { // a signal leaves it on its way
		return Answer{End: ended(err), Text: "connect"}
	}
	buf := make([]byte, 256)
	n, err := unix.Read(fd, buf)
	for errors.Is(err, unix.EINTR) { // as with any socket that has a time limit
		n, err = unix.Read(fd, buf)
	}
	if err != nil {
		return Answer{End: ended(err), Text: "read"}
	}
	return Answer{Got: buf[:max(n, 0)], End: EOF}
}

func sockaddr(text string) unix.Sockaddr {
	to, err := netip.ParseAddrPort(text)
	if err != nil {
		return nil
	}
	if to.Addr().Is4() {
		return &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
	}
	return &unix.SockaddrInet6{Port: int(to.Port()), Addr: to.Addr().As16()}
}
