package gate

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/network/relay"
	"ringfence.dev/ringfence/internal/network/upstream"
)

// closedError is an address that must not be dialled.
type closedError struct{ reason string }

func (e *closedError) Error() string { return e.reason }

var errNoAddress = errors.New("the name has no address")

// maxAddrs is how many addresses of one name are tried.
const maxAddrs = 6

// stagger is how long one address of several is given before the next is tried too.
const stagger = 300 * time.Millisecond

// dialler finds origins and connects to them, directly or by a proxy of the host's.
type dialler struct {
	guard  guard
	names  *lookups
	dial   Dial
	proxy  *upstream.Proxy // nil: directly
	racing sync.WaitGroup
}

// reach connects to a target. The address that is connected to is the very one that
// passed the guard; addr tells of it, also where it did not answer. named holds where a
// rule names the host, or the domain that it is in.
func (d *dialler) reach(ctx context.Context, t address.Target, named bool) (c relay.Conn, addr string, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialling)
	defer cancel()
	if d.proxy != nil && !d.proxy.Skips(t) {
		return d.byProxy(ctx, t, named)
	}
	addrs, err := d.find(ctx, t)
	if err != nil {
		return nil, "", err
	}
	direct, err := d.race(ctx, addrs, t.Port)
	if err != nil {
		return nil, addrs[0].String(), err
	}
	if to, ok := direct.RemoteAddr().(*net.TCPAddr); ok {
		return direct, to.AddrPort().Addr().Unmap().String(), nil
	}
	return direct, addrs[0].String(), nil
}

// close waits for the dials that lost a race.
func (d *dialler) close() {
	d.racing.Wait()
	d.guard.own.close()
}

// find returns the addresses of a target that may be dialled.
func (d *dialler) find(ctx context.Context, t address.Target) ([]netip.Addr, error) {
	addrs := []netip.Addr{t.Addr}
	if t.Name != "" {
		var err error
		if addrs, err = d.names.find(ctx, t.Name); err != nil {
			return nil, err
		}
	}
	var open []netip.Addr
	var why error
	for _, a := range addrs {
		if len(open) == maxAddrs { // a name is one host, not a list of them to be tried
			break
		}
		if err := d.guard.refuses(a, t.Port); err != nil {
			why = err
			continue
		}
		open = append(open, a)
	}
	if len(open) == 0 && why != nil {
		return nil, &closedError{why.Error()}
	}
	if len(open) == 0 {
		return nil, errNoAddress
	}
	return open, nil
}

// race connects to the first address that answers: the next is tried when one
// fails, or after a moment beside it.
func (d *dialler) race(ctx context.Context, addrs []netip.Addr, port uint16) (*net.TCPConn, error) {
	if len(addrs) == 1 {
		return d.connect(ctx, addrs[0], port)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type outcome struct {
		c   *net.TCPConn
		err error
	}
	results := make(chan outcome)
	started, failed := 0, 0
	start := func() {
		a := addrs[started]
		started++
		d.racing.Go(func() {
			c, err := d.connect(ctx, a, port)
			select {
			case results <- outcome{c, err}:
			case <-ctx.Done():
				if c != nil {
					c.Close()
				}
			}
		})
	}
	start()
	next := time.NewTimer(stagger)
	defer next.Stop()
	for {
		select {
		case r := <-results:
			if r.err == nil {
				return r.c, nil
			}
			if failed++; failed == len(addrs) {
				return nil, r.err
			}
			if started < len(addrs) {
				start()
			}
		case <-next.C:
			if started < len(addrs) {
				start()
				next.Reset(stagger)
			}
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Dial connects to one address.
type Dial func(ctx context.Context, to netip.AddrPort) (*net.TCPConn, error)

// connect asks the guard about the very address and connects to it.
func (d *dialler) connect(ctx context.Context, a netip.Addr, port uint16) (*net.TCPConn, error) {
	if err := d.guard.refuses(a, port); err != nil {
		return nil, &closedError{err.Error()}
	}
	return d.dial(ctx, netip.AddrPortFrom(a, port))
}

// dialHost connects on the host's network. Keep-alive probes are the client's
// business: the gate has a bound of its own for silence.
func dialHost(ctx context.Context, to netip.AddrPort) (*net.TCPConn, error) {
	host := net.Dialer{KeepAlive: -1}
	return host.DialTCP(ctx, "tcp", netip.AddrPort{}, to)
}

// dialReason says why nothing was reached, without an address of the host's network.
func dialReason(err error) string {
	var dns *net.DNSError
	var slow net.Error
	var proxy *upstream.Error
	var unnamed *unnamedError
	switch {
	case errors.As(err, &proxy):
		return proxy.Error()
	case errors.As(err, &unnamed):
		return unnamed.Error()
	case errors.Is(err, errTooManyLookups), errors.Is(err, errNoAddress):
		return err.Error()
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the name does not exist"
	case errors.As(err, &dns) && dns.IsTimeout:
		return "the host's resolver does not answer"
	case errors.As(err, &dns):
		return "the host's resolver failed"
	case errors.Is(err, unix.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, unix.ENETUNREACH), errors.Is(err, unix.EHOSTUNREACH):
		return "no route to the host"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, unix.ETIMEDOUT), errors.As(err, &slow) && slow.Timeout():
		return "no answer in time"
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		return "out of descriptors"
	}
	return "it failed"
}
