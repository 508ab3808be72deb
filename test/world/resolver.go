package world

import (
	"encoding/binary"
	"io"
	"net"
	"time"
)

// resolvers are where the resolver answers.
var resolvers = []string{Router4, Router6}

// serveNames answers DNS over UDP and TCP.
func (n *network) serveNames() error {
	for _, a := range resolvers {
		at := net.JoinHostPort(a, "53")
		u, err := net.ListenPacket("udp", at)
		if err != nil {
			return err
		}
		go n.serveUDP(u)
		l, err := net.Listen("tcp", at)
		if err != nil {
			return err
		}
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				go n.serveTCP(c)
			}
		}()
	}
	return nil
}

func (n *network) serveUDP(u net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		size, from, err := u.ReadFrom(buf)
		if err != nil {
			return
		}
		if out := n.zone.answer(buf[:size], "udp"); out != nil {
			u.WriteTo(out, from)
		}
	}
}

func (n *network) serveTCP(c net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	for {
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		msg := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, msg); err != nil {
			return
		}
		if out := n.zone.answer(msg, "tcp"); out != nil {
			c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(out))), out...))
		}
	}
}
