package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// udp sends a packet and waits for what comes back. It says how it failed.
func udp(args []string) error {
	c, err := net.DialTimeout("udp", args[0], wait.Patience)
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(wait.Patience))
	_, err = c.Write([]byte("hello"))
	if err == nil {
		_, err = c.Read(make([]byte, 64))
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return errors.New("nobody said anything")
	}
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	fmt.Println("answered")
	return nil
}

// ping sends an echo request, by either kind of socket that can, and says which
// were able to.
func ping(args []string) error {
	to, err := netip.ParseAddr(args[0])
	if err != nil {
		return err
	}
	family, proto, echo := unix.AF_INET, unix.IPPROTO_ICMP, byte(8)
	var sa unix.Sockaddr
	if to.Is6() {
		family, proto, echo = unix.AF_INET6, unix.IPPROTO_ICMPV6, 128
		sa = &unix.SockaddrInet6{Addr: to.As16()}
	} else {
		sa = &unix.SockaddrInet4{Addr: to.As4()}
	}
	for name, kind := range map[string]int{"datagram": unix.SOCK_DGRAM, "raw": unix.SOCK_RAW} {
		fd, err := unix.Socket(family, kind, proto)
		if err == nil {
			err = unix.Sendto(fd, []byte{echo, 0, 0xf7, 0xff, 0, 0, 0, 0}, 0, sa)
			unix.Close(fd)
		}
		if err != nil {
			fmt.Printf("%s: %v\n", name, err)
			continue
		}
		fmt.Printf("%s: sent\n", name)
	}
	return nil
}
