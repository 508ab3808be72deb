package probe

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"strings"
	"time"
)

// A question and an answer of DNS, no more than a proof needs. The resolver of the
// standard library is not asked: what it does depends on the host's configuration.
const (
	typeA, typeTXT, typeAAAA, typeHTTPS = 1, 16, 28, 65

	nxdomain = 3 // response code
	header   = 12
)

var errDNS = errors.New("not an answer to the question")

// ask puts one question to a server.
func ask(server netip.AddrPort, name string, kind uint16, wait time.Duration) (code int, addrs []netip.Addr, err error) {
	q, err := question(name, kind)
	if err != nil {
		return 0, nil, err
	}
	c, err := net.Dial("udp", server.String())
	if err != nil {
		return 0, nil, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait))
	if _, err := c.Write(q); err != nil {
		return 0, nil, err
	}
	b := make([]byte, 4<<10)
	n, err := c.Read(b)
	if err != nil {
		return 0, nil, err
	}
	return readAnswer(b[:n], q)
}

// question is a query with recursion desired.
func question(name string, kind uint16) ([]byte, error) {
	b := []byte{0x52, 0x46, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, ".") {
		if len(label) == 0 || len(label) > 63 {
			return nil, errors.New("not a name")
		}
		b = append(append(b, byte(len(label))), label...)
	}
	if len(b)-header > 254 {
		return nil, errors.New("not a name")
	}
	b = append(b, 0)
	return append(b, byte(kind>>8), byte(kind), 0, 1), nil
}

// readAnswer reads the code and the addresses of an answer to q.
func readAnswer(b, q []byte) (code int, addrs []netip.Addr, err error) {
	if len(b) < len(q) || b[0] != q[0] || b[1] != q[1] || b[2]&0x80 == 0 || string(b[header:len(q)]) != string(q[header:]) {
		return 0, nil, errDNS
	}
	rest := b[len(q):]
	for range binary.BigEndian.Uint16(b[6:]) {
		// Every name in an answer of ours is a pointer to the question.
		if len(rest) < 12 || rest[0]&0xc0 != 0xc0 {
			return 0, nil, errDNS
		}
		kind, size := binary.BigEndian.Uint16(rest[2:]), int(binary.BigEndian.Uint16(rest[10:]))
		if len(rest) < 12+size {
			return 0, nil, errDNS
		}
		if a, ok := netip.AddrFromSlice(rest[12 : 12+size]); ok && (kind == typeA && size == 4 || kind == typeAAAA && size == 16) {
			addrs = append(addrs, a)
		}
		rest = rest[12+size:]
	}
	return int(b[3] & 15), addrs, nil
}

// resolve answers every question: with the address that a name stands for, or with
// none.
func resolve(c net.PacketConn) {
	b := make([]byte, 4<<10)
	for {
		n, from, err := c.ReadFrom(b)
		if err != nil {
			return
		}
		if a, ok := answerTo(b[:n]); ok {
			c.WriteTo(a, from)
		}
	}
}

// answerTo is the answer to a question of ours.
func answerTo(q []byte) ([]byte, bool) {
	name, end := "", header
	for {
		if end >= len(q) || q[end] > 63 || end+1+int(q[end]) > len(q) {
			return nil, false
		}
		size := int(q[end])
		if end++; size == 0 {
			break
		}
		name, end = name+string(q[end:end+size])+".", end+size
	}
	if len(q) != end+4 {
		return nil, false
	}
	kind := binary.BigEndian.Uint16(q[end:])
	a := append([]byte{q[0], q[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[header:]...)
	addr, ok := HostAddr(name)
	if ok && (addr.Is4() && kind == typeA || addr.Is6() && kind == typeAAAA) {
		a[7] = 1
		a = append(a, 0xc0, header, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 60, 0, byte(addr.BitLen()/8))
		a = append(a, addr.AsSlice()...)
	}
	return a, true
}
