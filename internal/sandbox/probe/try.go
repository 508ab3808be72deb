package probe

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// netPatience is for answers of a gate on a busy machine. Only what is broken makes
// anybody wait for its end.
const netPatience = 4 * time.Second

// any reaches the origin of a try by one address or another.
func (t *NetTarget) any(try Try) error {
	addrs, err := t.addresses(try.Host)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if err = t.hear(netip.AddrPortFrom(a, try.Port), try.Say); err == nil {
			return nil
		}
	}
	return err
}

// every reaches it by all of them.
func (t *NetTarget) every(try Try) error {
	addrs, err := t.addresses(try.Host)
	if err != nil {
		return err
	}
	for _, a := range addrs {
		if err := t.hear(netip.AddrPortFrom(a, try.Port), try.Say); err != nil && !errors.Is(err, errNoIPv6) {
			return fmt.Errorf("%s: %w", a, err)
		}
	}
	return nil
}

// addresses asks for those of a name, of both kinds.
func (t *NetTarget) addresses(host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	var out []netip.Addr
	for _, kind := range []uint16{typeA, typeAAAA} {
		code, addrs, err := ask(t.Servers[0], host, kind, netPatience)
		if err != nil {
			return nil, fmt.Errorf("ask for the name: %w", err)
		}
		if code != 0 {
			return nil, fmt.Errorf("the name was answered with code %d", code)
		}
		out = append(out, addrs...)
	}
	if len(out) == 0 {
		return nil, errors.New("the name has no address")
	}
	return out, nil
}

// hear connects, says what there is to say, and wants to hear the canary.
func (t *NetTarget) hear(to netip.AddrPort, say []byte) error {
	c, err := t.dial(to)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write(say); err != nil {
		return err
	}
	return t.listen(c)
}

func (t *NetTarget) dial(to netip.AddrPort) (net.Conn, error) {
	if to.Addr().Unmap().Is6() && !t.six {
		return nil, errNoIPv6
	}
	c, err := net.DialTimeout("tcp", to.String(), netPatience)
	if err == nil {
		c.SetDeadline(time.Now().Add(netPatience))
	}
	return c, err
}

// listen reads until the canary was heard, or there is nothing more.
func (t *NetTarget) listen(c net.Conn) error {
	const most = 16 << 10
	var heard []byte
	for len(heard) < most {
		b := make([]byte, 4<<10)
		n, err := c.Read(b)
		if heard = append(heard, b[:n]...); carries(heard, t.Canary) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return errors.New("somebody else answers")
}

// death wants the network to end with the gate, at once: what still listened would
// let clients hang, and what still answered would be a gate that nobody keeps. The
// origin takes a byte for the sign to end the gate; in the control it only hangs up.
func (t *NetTarget) death(name string) Result {
	try := t.Tries[name][0]
	addrs, err := t.addresses(try.Host)
	if err != nil {
		return open(name, "while the gate lives: %v", cause(err))
	}
	to := netip.AddrPortFrom(addrs[0], try.Port)
	c, err := t.dial(to)
	if err != nil {
		return open(name, "while the gate lives: %v", cause(err))
	}
	defer c.Close()
	if err := t.listen(c); err != nil {
		return open(name, "while the gate lives: %v", cause(err))
	}
	if _, err := c.Write([]byte("end")); err != nil {
		return open(name, "while the gate lives: %v", cause(err))
	}
	if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return open(name, "the connection outlives the gate")
	}
	// What arrives at the very moment of the end is lost, and only time tells: a
	// connection that met the closing listener, a question that nobody read. Either
	// is tried again.
	err = os.ErrDeadlineExceeded
	for i := 0; i < 3 && !refusedAtOnce(err); i++ {
		if err = t.hear(to, nil); err == nil {
			return open(name, "the network outlives the gate")
		}
	}
	if !refusedAtOnce(err) {
		return open(name, "a new connection is not refused at once: %v", cause(err))
	}
	for range 3 {
		if _, _, err = ask(t.Servers[0], try.Host, typeA, netPatience/8); refusedAtOnce(err) {
			return closed(name, "refused at once: %v", cause(err))
		}
	}
	return open(name, "a question is not refused at once: %v", cause(err))
}

func refusedAtOnce(err error) bool {
	return errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, unix.ECONNRESET)
}

// control wants the session's control socket out of reach: who is inside could allow
// itself anything there.
func (t *NetTarget) control(name string) Result {
	c, err := net.DialTimeout("unix", "@"+t.Control, patience)
	if err == nil {
		c.Close()
		return open(name, "a connection to the control socket was made")
	}
	return refused(name, err, unix.ECONNREFUSED, unix.EPERM)
}
