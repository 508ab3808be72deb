package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// addressSize is what stands before a datagram: an address in 16 bytes and a port.
const addressSize = 18

// MaxDatagram is the longest datagram that is carried.
const MaxDatagram = MaxMessage - addressSize

// Packets makes a stream of Datagrams a net.PacketConn.
type Packets struct{ *Stream }

// ReadFrom reads a datagram. What does not fit into p is lost, as it is with a socket.
func (c Packets) ReadFrom(p []byte) (int, net.Addr, error) {
	b := make([]byte, MaxMessage)
	n, err := c.Read(b)
	if err != nil {
		return 0, nil, err
	}
	from, data, err := parseDatagram(b[:n])
	if err != nil {
		return 0, nil, c.link.broken(err)
	}
	return copy(p, data), net.UDPAddrFromAddrPort(from), nil
}

// WriteTo writes a datagram. Like a socket it loses none quietly: it waits for the window.
func (c Packets) WriteTo(p []byte, to net.Addr) (int, error) {
	u, ok := to.(*net.UDPAddr)
	if !ok {
		return 0, fmt.Errorf("%v is no address of a datagram", to)
	}
	a := u.AddrPort()
	if !a.IsValid() || len(p) > MaxDatagram {
		return 0, errors.New("a datagram without an address, or too long")
	}
	if _, err := c.Write(appendDatagram(nil, a, p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// appendDatagram puts the address before the data. Both forms of an IPv4 address have
// the same 16 bytes, so an address has one form here.
func appendDatagram(b []byte, a netip.AddrPort, data []byte) []byte {
	ip := a.Addr().As16()
	b = binary.BigEndian.AppendUint16(append(b, ip[:]...), a.Port())
	return append(b, data...)
}

func parseDatagram(b []byte) (netip.AddrPort, []byte, error) {
	if len(b) < addressSize {
		return netip.AddrPort{}, nil, fmt.Errorf("%w: a datagram without an address", WrongMessage)
	}
	ip := netip.AddrFrom16([16]byte(b)).Unmap()
	return netip.AddrPortFrom(ip, binary.BigEndian.Uint16(b[16:])), b[addressSize:], nil
}
