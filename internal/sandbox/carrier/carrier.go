// Package carrier is a stream of bytes that outlives the connection it goes over. What one
// end writes is kept until the other says that it has it; a new connection goes on where the
// last one broke, and nothing is lost or comes twice.
//
// Both ends know a secret, and prove it for every connection. It keeps out whoever else is on
// the machine of the other end. Who has the other end itself has the secret: so all that it
// says has one form and bounds, and anything else is the end.
//
// Left at risk: the bytes are not encrypted here. The connection has to see to that.
package carrier

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Window is how much an end keeps that the other has not said it has. A writer waits beyond
// that.
const Window = 2 << 20

// Carrier is one end. All its methods may be called at any time, Read and Write by one each.
type Carrier struct {
	role   Role
	secret []byte
	alive  time.Duration

	patient atomic.Bool

	turn sync.Mutex // who puts a connection in or takes one out, with what is told of it

	mu      sync.Mutex // guards all below
	changed sync.Cond
	conn    *conn // nil: there is none
	err     error // why it ended
	began   bool  // there has been a connection
	closing bool  // Close or Part was called
	last    byte  // the kind of frame that says so
	out     ring  // what was written and is not known to have come
	sent    int   // of out, on this connection
	got     uint64
	told    uint64 // of got, what the other end knows

	lasts      bool
	keep       time.Duration
	lost, back func()
	missed     bool // lost was called, and back was not
	expiry     *time.Timer
}

// ErrLost is the end of a carrier whose connection broke, and no other came in time.
var ErrLost = errors.New("the connection was lost")

// errClosed is the end by Close or Part, and errParted that of the other end.
var (
	errClosed = errors.New("the carrier was closed")
	errParted = errors.New("the other end left")
)

// New is one end, without a connection. alive is how often it says that it is there. One that
// has heard nothing for three times as long gives its connection up.
func New(role Role, secret []byte, alive time.Duration) *Carrier {
	c := &Carrier{role: role, secret: secret, alive: alive}
	c.changed.L = &c.mu
	return c
}

// Last lets it outlive its connection from now on: when that breaks lost is called, and back
// before anything of the next one is read. Without another in time it ends. Until Last is
// called the end of the connection is the end.
func (c *Carrier) Last(keep time.Duration, lost, back func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lasts, c.keep, c.lost, c.back = true, keep, lost, back
}

// Read implements io.Reader. It ends with io.EOF where the other end closed it.
func (c *Carrier) Read(p []byte) (int, error) {
	for len(p) > 0 {
		k, err := c.current()
		if err != nil {
			return 0, err
		}
		n, err := k.read(c, p)
		if n > 0 && c.count(k, n) {
			return n, nil
		}
		if err != nil {
			c.drop(k, err)
		}
	}
	return 0, nil
}

// current waits for a connection.
func (c *Carrier) current() (*conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.conn == nil && c.err == nil {
		c.changed.Wait()
	}
	return c.conn, c.err
}

// count counts what came; false: on a connection that is none any more. The other end sends
// it again.
func (c *Carrier) count(k *conn, n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != k || c.err != nil {
		return false
	}
	c.got += uint64(n)
	if c.got-c.told >= Window/8 {
		c.changed.Broadcast()
	}
	return true
}

// Write implements io.Writer. It waits where too much is on its way, and does not wait for
// the other end otherwise.
func (c *Carrier) Write(p []byte) (n int, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n < len(p) {
		for c.err == nil && c.out.free() == 0 {
			c.changed.Wait()
		}
		if c.err != nil {
			return n, c.err
		}
		n += c.out.put(p[n:])
		c.changed.Broadcast()
	}
	return n, nil
}

// drop takes a connection out that broke, or over which something wrong came.
func (c *Carrier) drop(k *conn, why error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.take(k, why)
}

// take does so. Whose turn it is calls it. A far end that was told of the end leaves its
// connection open: the near one sees by that when its process is gone, and waits a moment.
func (c *Carrier) take(k *conn, why error) {
	if c.role == Near || !errors.Is(why, io.EOF) && !errors.Is(why, errParted) {
		defer func() { go k.Close() }() // it can take its time, and who hears of the loss must not
	}
	c.mu.Lock()
	if c.conn != k {
		c.mu.Unlock()
		return
	}
	c.conn = nil
	c.changed.Broadcast()
	c.miss(why)
}

// miss is what follows when there is no connection any more. The mutex is held, and given
// back.
func (c *Carrier) miss(why error) {
	var w Wrong
	if c.err != nil || !c.lasts || c.keep <= 0 || errors.Is(why, io.EOF) || errors.Is(why, errParted) || errors.As(why, &w) {
		if !errors.Is(why, io.EOF) && !errors.As(why, &w) {
			why = fmt.Errorf("%w: %w", ErrLost, why)
		}
		c.fail(why)
		c.mu.Unlock()
		return
	}
	lost := c.lost
	if c.missed {
		lost = func() {}
	} else {
		c.expiry = time.AfterFunc(c.keep, func() { c.end(fmt.Errorf("%w: %w", ErrLost, why)) })
	}
	c.missed = true
	c.mu.Unlock()
	lost()
}

// fail ends it for the first reason that comes. The mutex is held.
func (c *Carrier) fail(why error) {
	if c.err == nil {
		c.err = why
		c.changed.Broadcast()
	}
}

// Abandon ends it as one that was lost, for a reason: whatever connection it has is given up.
func (c *Carrier) Abandon(why error) {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.mu.Lock()
	k := c.conn
	c.conn = nil
	c.fail(fmt.Errorf("%w: %w", ErrLost, why))
	c.changed.Broadcast()
	c.mu.Unlock()
	if k != nil {
		k.Close()
	}
}

// Patient says that the other end may be silent for as long as it likes, or no more.
func (c *Carrier) Patient(on bool) { c.patient.Store(on) }

// end ends it, unless a connection came.
func (c *Carrier) end(why error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == nil {
		c.fail(why)
	}
}

// Err says why it ended; nil while it lasts.
func (c *Carrier) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Cut says that there is no connection just now.
func (c *Carrier) Cut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.conn == nil
}

// lastWord is how long Close waits until the other end can have heard of it.
const lastWord = time.Second

// Close ends it, and tells the other end, which ends with io.EOF. What that has not got is
// lost.
func (c *Carrier) Close() error { return c.close(kindEnd) }

// Part ends it, and the other end as one that was lost, at once.
func (c *Carrier) Part() error { return c.close(kindPart) }

func (c *Carrier) close(last byte) error {
	c.mu.Lock()
	k := c.conn
	c.fail(errClosed)
	if !c.closing {
		c.closing, c.last = true, last
	}
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.changed.Broadcast()
	c.mu.Unlock()
	if k == nil {
		return nil
	}
	select {
	case <-k.sender:
	case <-time.After(lastWord):
	}
	c.drop(k, errClosed)
	return k.Close()
}
