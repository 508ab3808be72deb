package gate

import (
	"context"
	"net"
	"sync"

	"ringfence.dev/ringfence/internal/network/relay"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// engine relays at full speed. It starts with the first pair.
type engine struct {
	ctx      context.Context // done when the gate closes
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
	return e.copy(client, origin, o)
}

// copy relays what no descriptor stands for, or must be looked at on the way.
func (e *engine) copy(client, origin relay.Conn, o relay.Options) (relay.Counts, error) {
	defer context.AfterFunc(e.ctx, func() { reset(client); reset(origin) })()
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
