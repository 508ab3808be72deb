package world

import (
	"net"
	"net/netip"
	"sync"
)

// Heard is what a server got over one connection.
type Heard struct {
	Addr  netip.Addr // at which the server was reached
	Port  uint16
	First []byte // the beginning, before any decryption
	Bytes int64
}

// maxFirst bounds what is kept of a connection.
const maxFirst = 8 << 10

// tap remembers what the servers got.
type tap struct {
	mu    sync.Mutex
	conns []*tapConn
}

func (t *tap) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.conns = nil
}

func (t *tap) look() []Heard {
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []Heard
	for _, c := range t.conns {
		c.mu.Lock()
		h := c.heard
		h.First = append([]byte(nil), h.First...)
		c.mu.Unlock()
		out = append(out, h)
	}
	return out
}

type tapListener struct {
	net.Listener
	tap *tap
}

func (l *tapListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	at := c.LocalAddr().(*net.TCPAddr).AddrPort()
	out := &tapConn{Conn: c, heard: Heard{Addr: at.Addr().Unmap().WithZone(""), Port: at.Port()}}
	l.tap.mu.Lock()
	l.tap.conns = append(l.tap.conns, out)
	l.tap.mu.Unlock()
	return out, nil
}

type tapConn struct {
	net.Conn
	mu    sync.Mutex
	heard Heard
}

func (c *tapConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard.Bytes += int64(n)
	c.heard.First = append(c.heard.First, b[:min(n, maxFirst-len(c.heard.First))]...)
	return n, err
}
