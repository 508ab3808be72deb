package probe

import (
	"fmt"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// takeDown makes a network in which nothing stops anybody: every address answers,
// every name has one, and the session's control socket is there. The process stands
// in a namespace of its own, so that all of it is nobody else's.
func (t *NetTarget) takeDown(canary string) error {
	if err := exchange(unix.NETLINK_ROUTE, linkUp()); err != nil {
		return fmt.Errorf("bring lo up: %w", err)
	}
	families := []byte{unix.AF_INET}
	if haveIPv6() {
		families = append(families, unix.AF_INET6)
	}
	for _, family := range families {
		local := message(unix.RTM_NEWROUTE, unix.NLM_F_CREATE, route(family, 0, unix.RT_TABLE_LOCAL, unix.RTN_LOCAL),
			attribute(unix.RTA_OIF, native32(loopbackIndex)))
		if err := exchange(unix.NETLINK_ROUTE, local); err != nil {
			return fmt.Errorf("local default route: %w", err)
		}
	}
	for port, after := range t.ports() {
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			return err
		}
		go serve(l, canary, after)
	}
	names, err := net.ListenPacket("udp", fmt.Sprintf(":%d", t.Servers[0].Port()))
	if err != nil {
		return err
	}
	go resolve(names)
	control, err := net.Listen("unix", "@"+t.Control)
	if err != nil {
		return err
	}
	go serve(control, canary, false)
	return nil
}

// ports are those that are tried, and whether the client speaks first there.
func (t *NetTarget) ports() map[uint16]bool {
	out := map[uint16]bool{}
	for _, list := range t.Tries {
		for _, try := range list {
			out[try.Port] = out[try.Port] || len(try.Say) > 0
		}
	}
	return out
}

func serve(l net.Listener, canary string, after bool) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			Greet(c, canary, after, func(int) { c.Close() })
			c.Close()
		}()
	}
}

// Greet is the origin of a proof: it says the canary, at once or after the first
// byte, and tells how many bytes it hears, until the other side ends.
func Greet(c net.Conn, canary string, after bool, heard func(int)) {
	c.SetDeadline(time.Now().Add(2 * netPatience))
	b := make([]byte, 4<<10)
	n, err := 0, error(nil)
	if after {
		n, err = c.Read(b)
	}
	if err == nil {
		body := canary + "\n"
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	for ; err == nil; n, err = c.Read(b) {
		if n > 0 {
			heard(n)
		}
	}
}
