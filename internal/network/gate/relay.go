package gate

import (
	"net"
	"sync"

	"ringfence.dev/ringfence/internal/network/relay"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// engine relays at full speed. It starts with the first pair.
type engine struct {
	starting sync.Once
	relay    *relay.Engine
	err      error
}

// pair relays by descriptors if both ends are sockets of this kernel.
func (e *engine) pair(client, origin relay.Conn, o relay.Options) (relay.Counts, error) {
	e.starting.Do(func() { e.relay, e.err = relay.New() })
	if e.err != nil {
		reset(client)
		reset(origin)
		return relay.Counts{}, e.err
	}
	if c, s := socket(client), socket(origin); c != nil && s != nil {
		return e.relay.Pair(c, s, o)
	}
	return relay.Copy(client, origin, o)
}

func socket(c relay.Conn) *net.TCPConn {
	if c, ok := c.(rung.Conn); ok {
		return c.Socket()
	}
	t, _ := c.(*net.TCPConn)
	return t
}

// close ends what is relayed; nothing starts afterwards.
func (e *engine) close() {
	e.starting.Do(func() { e.err = net.ErrClosed })
	if e.relay != nil {
		e.relay.Close()
	}
}
