package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
)

// addressSize is what stands before a datagram: an address in 16 bytes and a port.
const addressSize = 18

// MaxDatagram is the longest datagram that is carried.
const MaxDatagram = MaxMessage - addressSize

// Packets makes a stream of Datagrams a socket of them.
type Packets struct{ *Stream }

// ReadFromUDPAddrPort reads a datagram. What does not fit into p is lost, as it is with a
// socket.
func (c Packets) ReadFromUDPAddrPort(p []byte) (int, netip.AddrPort, error) {
	b := make([]byte, MaxMessage)
	n, err := c.Read(b)
	if err != nil {
		return 0, netip.AddrPort{}, err
	}
	from, data, err := parseDatagram(b[:n])
	if err != nil {
		return 0, netip.AddrPort{}, c.link.broken(err)
	}
	return copy(p, data), from, nil
}

// WriteToUDPAddrPort writes a datagram. It loses none quietly: it waits for the window.
func (c Packets) WriteToUDPAddrPort(p []byte, to netip.AddrPort) (int, error) {
	if !to.IsValid() || len(p) > MaxDatagram {
		return 0, errors.New("a datagram without an address, or too long")
	}
	if _, err := c.Write(appendDatagram(nil, to, p)); err != nil {
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
