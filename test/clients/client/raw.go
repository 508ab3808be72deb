package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"ringfence.dev/ringfence/test/wait"
)

// nameServer is the host's, not the one that the sandbox is told of: whoever does
// without a resolver library may have any in mind.
const nameServer = "192.0.2.1:53"

// raw asks for a name and talks HTTP to what it is told, all by hand.
func raw(args []string) error {
	host := args[0]
	addr, err := netip.ParseAddr(host)
	if err != nil {
		if addr, err = lookUp(host); err != nil {
			return err
		}
	}
	c, err := net.DialTimeout("tcp", netip.AddrPortFrom(addr, 80).String(), wait.Patience)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait.Patience))
	if _, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", host); err != nil {
		return err
	}
	_, err = io.Copy(os.Stdout, c)
	return err
}

// lookUp asks for the A record of a name and takes the last one that comes.
func lookUp(name string) (netip.Addr, error) {
	c, err := net.DialTimeout("udp", nameServer, wait.Patience)
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait.Patience))
	q := []byte{0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, ".") {
		q = append(append(q, byte(len(label))), label...)
	}
	q = append(q, 0, 0, 1, 0, 1)
	if _, err := c.Write(q); err != nil {
		return netip.Addr{}, err
	}
	buf := make([]byte, 512)
	n, err := c.Read(buf)
	if err != nil {
		return netip.Addr{}, err
	}
	// The answer ends in four bytes of address, before which stands their number.
	if n < len(q)+16 || buf[3]&15 != 0 || binary.BigEndian.Uint16(buf[6:]) == 0 {
		return netip.Addr{}, fmt.Errorf("no such name: code %d", buf[3]&15)
	}
	b := buf[:n]
	if binary.BigEndian.Uint16(b[10:]) != 0 || binary.BigEndian.Uint16(b[n-6:]) != 4 {
		return netip.Addr{}, errors.New("the answer does not end in an address")
	}
	return netip.AddrFrom4([4]byte(b[n-4:])), nil
}
