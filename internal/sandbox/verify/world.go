package verify

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// world stands for everything behind the gate of a throw-away sandbox. It resolves
// names, takes connections, and remembers what the gate asked of it: that is the
// witness outside. Whatever address is dialled, the canary on the host's loopback
// answers, and no packet goes anywhere else.
type world struct {
	canary string
	ports  *net.TCPListener
	udp    *net.UDPConn // hears what is sent to the host's loopback

	mu      sync.Mutex
	looked  map[string]int     // names
	dialled map[netip.Addr]int // addresses
	heard   map[netip.Addr]int // bytes that arrived for them
	open    int                // connections
	shut    func()             // ends the gate
	control bool               // the session's control socket answers outside
}

func newWorld(p *plant) (*world, error) {
	w := &world{canary: p.canary, looked: map[string]int{}, dialled: map[netip.Addr]int{}, heard: map[netip.Addr]int{}}
	var err error
	if w.ports, err = net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, err
	}
	p.later(func() { w.ports.Close() })
	if w.udp, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, err
	}
	p.later(func() { w.udp.Close() })
	return w, w.hearsDatagrams()
}

// hearsDatagrams is the control of a witness that is to hear nothing.
func (w *world) hearsDatagrams() error {
	c, err := net.DialUDP("udp4", nil, w.udp.LocalAddr().(*net.UDPAddr))
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Write([]byte("ringfence")); err != nil {
		return err
	}
	if n := w.datagrams(time.Second); n != 1 {
		return errors.New("a datagram on loopback does not arrive")
	}
	return nil
}

// datagrams counts what has arrived, and waits for the first.
func (w *world) datagrams(wait time.Duration) int {
	w.udp.SetReadDeadline(time.Now().Add(wait))
	n := 0
	for {
		if _, err := w.udp.Read(make([]byte, 16)); err != nil {
			return n
		}
		n++
		w.udp.SetReadDeadline(time.Now().Add(time.Millisecond))
	}
}

// ready takes the session's control socket, which has to answer out here, and what
// ends the gate.
func (w *world) ready(control string, shut func()) {
	c, err := net.DialTimeout("unix", "@"+control, time.Second)
	if err == nil {
		c.Close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.control, w.shut = err == nil, shut
}

func (w *world) lookup(name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked[name]++
	a, ok := probe.HostAddr(name)
	if !ok {
		return nil, fmt.Errorf("%q has no address", name)
	}
	return []netip.Addr{a}, nil
}

func (w *world) dial(ctx context.Context, to netip.AddrPort) (*net.TCPConn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dialled[to.Addr()]++
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	near, err := net.DialTCP("tcp4", nil, w.ports.Addr().(*net.TCPAddr))
	if err != nil {
		return nil, err
	}
	w.ports.SetDeadline(time.Now().Add(time.Second))
	for {
		far, err := w.ports.AcceptTCP()
		if err != nil {
			near.Close()
			return nil, err
		}
		if far.RemoteAddr().String() == near.LocalAddr().String() {
			w.open++
			go w.serve(far, to)
			return near, nil
		}
		far.Close() // a stranger on this host
	}
}

func (w *world) serve(c *net.TCPConn, to netip.AddrPort) {
	defer func() {
		c.Close()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.open--
	}()
	clientFirst := to.Port() == 80 || to.Port() == 443
	probe.Greet(c, w.canary, clientFirst, func(n int) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.heard[to.Addr()] += n
		if to.Addr() == last && w.shut != nil {
			go w.shut()
			w.shut = nil
		}
	})
}

// bytes is how many have arrived for an address, dials how often it was dialled, opened how
// many connections there are.
func (w *world) bytes(a netip.Addr) int { return w.count(func() int { return w.heard[a] }) }
func (w *world) dials(a netip.Addr) int { return w.count(func() int { return w.dialled[a] }) }
func (w *world) opened() int            { return w.count(func() int { return w.open }) }

func (w *world) count(of func() int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return of()
}

// witness says what the gate asked for on behalf of a check, and whether that agrees
// with its being shut, or for reach and death with its having been open.
func (w *world) witness(check string, a attempts) (text string, agrees bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	names, looked, dialled, heard := 0, 0, 0, 0
	for _, h := range a.hosts {
		addr, err := netip.ParseAddr(h)
		if err != nil {
			names++
			looked += min(w.looked[h], 1)
			addr, _ = probe.HostAddr(h)
		}
		dialled += min(w.dialled[addr.Unmap()], 1)
		heard += w.heard[addr.Unmap()]
	}
	switch check {
	case "gate-tls", "gate-http", "gate-decoy":
		return fmt.Sprintf("%d bytes arrived at the origin", heard), heard == 0
	case "gate-literal", "gate-name", "gate-proxy", "gate-broker":
		return fmt.Sprintf("%d names looked up, %d addresses dialled", looked, dialled), looked == 0 && dialled == 0
	case "control":
		return fmt.Sprintf("the control socket answers outside: %v", w.control), w.control
	case "reach", "death":
		return fmt.Sprintf("%d of %d hosts dialled", dialled, names), dialled == names && heard > 0
	}
	return fmt.Sprintf("%d of %d names looked up, %d addresses dialled", looked, names, dialled), looked == names && dialled == 0
}
