package broker

import (
	"net"
	"sync"
)

// feed is a listener to which connections are handed by somebody who accepted them
// already.
type feed struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newFeed() *feed { return &feed{conns: make(chan net.Conn), done: make(chan struct{})} }

func (f *feed) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}

func (f *feed) Close() error {
	f.once.Do(func() { close(f.done) })
	return nil
}

func (f *feed) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

// hand gives a connection to the server and waits for its end: who accepted it counts
// it as open until then.
func (f *feed) hand(c net.Conn) {
	h := &handed{Conn: c, ended: make(chan struct{})}
	select {
	case f.conns <- h:
	case <-f.done:
		c.Close()
		return
	}
	<-h.ended
}

// handed is a connection whose end somebody waits for.
type handed struct {
	net.Conn
	once  sync.Once
	ended chan struct{}
}

func (h *handed) Close() error {
	err := h.Conn.Close()
	h.once.Do(func() { close(h.ended) })
	return err
}
