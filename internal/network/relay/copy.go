package relay

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/file/sys"
)

// Conn is a connection that can be relayed without a descriptor.
type Conn interface {
	net.Conn
	CloseWrite() error
	SetLinger(sec int) error // 0: Close resets it
}

// Copy relays as an engine does, between connections that are not both sockets of this
// kernel. Each pair costs a goroutine more, and each direction a buffer.
func Copy(client, origin Conn, o Options) (Counts, error) {
	p := &copied{idle: o.Idle}
	p.last.Store(int64(time.Since(epoch)))
	if tcp, ok := origin.(*net.TCPConn); ok && loopback(tcp) {
		if raw, err := tcp.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { sys.TuneLocal(int(fd)) })
		}
	}
	var n Counts
	back := make(chan error, 1)
	go func() { back <- p.carry(client, origin, "client", "origin", nil, &n.Received) }()
	up := func() error {
		if len(o.First) > 0 {
			if err := p.pass(origin, o.First, o.Inspect, &n.Sent); err != nil {
				return p.failed(origin, client, "origin", err)
			}
		}
		return p.carry(origin, client, "origin", "client", o.Inspect, &n.Sent)
	}
	err := up()
	if down := <-back; err == nil || errors.Is(err, net.ErrClosed) {
		err = errors.Join(down, err)
	}
	client.Close()
	origin.Close()
	return n, err
}

var epoch = time.Now()

// copied is a pair that is relayed so.
type copied struct {
	idle time.Duration
	last atomic.Int64 // when a byte moved, since epoch
}

// carry moves bytes from one connection to the other, and then the end. What fails ends
// both.
func (p *copied) carry(to, from Conn, toName, fromName string, look func([]byte) error, moved *int64) error {
	p.patience(from.SetReadDeadline)
	p.patience(to.SetWriteDeadline)
	buf := make([]byte, large/4-1<<10) // a little less than 128 KiB: two frames of a link carry it
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if err := p.pass(to, buf[:n], look, moved); err != nil {
				return p.failed(to, from, toName, err)
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			_ = to.CloseWrite() // if the peer is gone, the other direction will say so
			return nil
		case errors.Is(err, os.ErrDeadlineExceeded) && p.patience(from.SetReadDeadline):
		default:
			return p.failed(to, from, fromName, err)
		}
	}
}

// pass writes all of b, once it was looked at.
func (p *copied) pass(to Conn, b []byte, look func([]byte) error, moved *int64) error {
	if look != nil {
		if err := look(b); err != nil {
			return err
		}
	}
	for len(b) > 0 {
		n, err := to.Write(b)
		*moved += int64(n)
		b = b[n:]
		if n > 0 {
			p.last.Store(int64(time.Since(epoch)))
		}
		if err != nil && !(errors.Is(err, os.ErrDeadlineExceeded) && p.patience(to.SetWriteDeadline)) {
			return err
		}
	}
	return nil
}

// patience sets a deadline anew, unless no byte moved either way for too long.
func (p *copied) patience(set func(time.Time) error) bool {
	if p.idle == 0 {
		return true
	}
	left := p.idle - (time.Since(epoch) - time.Duration(p.last.Load()))
	if left <= 0 {
		return false
	}
	_ = set(time.Now().Add(left)) // fails on a closed one, as the next call will
	return true
}

// failed resets both sides.
func (p *copied) failed(to, from Conn, side string, err error) error {
	for _, c := range []Conn{to, from} {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return ErrIdle
	}
	return fmt.Errorf("%s: %w", side, err)
}
