package gate

import (
	"context"
	"io"
	"net"
	"time"

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
	defer k.leash(origin)()
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

// lookAgain is how long a timer is trusted: it stands still while a laptop sleeps, and a
// grant ends by the clock on the wall.
const lookAgain = 20 * time.Second

// leash ends a call when the grant that allowed it does, unless by then another rule
// allows it. The caller calls stop when the call has ended.
func (k *call) leash(origin *net.TCPConn) (stop func()) {
	until := k.rule.Until
	if until.IsZero() {
		return func() {}
	}
	ended := make(chan struct{})
	k.g.spawn(func() {
		for {
			select {
			case <-ended:
				return
			case <-time.After(min(time.Until(until), lookAgain)):
			}
			if time.Now().Before(until) {
				continue
			}
			d := k.g.rules.Decide(Request{Target: k.target})
			if d.Verdict != Allow {
				reset(k.client)
				reset(origin)
				return
			}
			if d.Until.IsZero() {
				return
			}
			until = d.Until
		}
	})
	return func() { close(ended) }
}
