package gate

import (
	"context"
	"io"
	"net"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/network/relay"
)

// pair relays at full speed.
func (g *Gate) pair(client, origin *net.TCPConn, o relay.Options) (relay.Counts, error) {
	g.starting.Do(func() { g.engine, g.noEngine = relay.New() })
	if g.noEngine != nil {
		reset(client)
		reset(origin)
		return relay.Counts{}, g.noEngine
	}
	return g.engine.Pair(client, origin, o)
}

// slow relays what must be looked at on the way: an upload that has a budget, or a
// connection that ends when its grant does.
func (k *call) slow(origin *net.TCPConn) (n relay.Counts, err error) {
	k.expiry.set(k.rule.Until, Request{Target: k.target})
	defer k.expiry.watch(k.g, k.client, origin)()
	defer context.AfterFunc(k.g.ctx, func() { reset(k.client); reset(origin) })()
	back := make(chan struct{})
	go func() {
		defer close(back)
		n.Received, _ = io.Copy(k.client, patient{origin, origin})
		k.client.CloseWrite()
	}()
	n.Sent, err = io.Copy(k.upward(origin, k.proto != string(address.TLS)), patient{k, k.client})
	if err != nil {
		reset(k.client)
		reset(origin)
	} else {
		origin.CloseWrite()
	}
	<-back
	k.client.Close()
	origin.Close()
	return n, err
}
