package gate

import (
	"context"
	"io"
	"net"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/network/relay"
)

// engine relays at full speed. It starts with the first pair.
type engine struct {
	starting sync.Once
	relay    *relay.Engine
	err      error
}

func (e *engine) pair(client, origin *net.TCPConn, o relay.Options) (relay.Counts, error) {
	e.starting.Do(func() { e.relay, e.err = relay.New() })
	if e.err != nil {
		reset(client)
		reset(origin)
		return relay.Counts{}, e.err
	}
	return e.relay.Pair(client, origin, o)
}

// close ends what is relayed; nothing starts afterwards.
func (e *engine) close() {
	e.starting.Do(func() { e.err = net.ErrClosed })
	if e.relay != nil {
		e.relay.Close()
	}
}

// slow relays what must be looked at on the way: an upload that has a budget, or a
// connection that ends when its grant does.
func (k *call) slow(origin *net.TCPConn) (n relay.Counts, err error) {
	k.expiry.set(k.rule.Until, Request{Target: k.target})
	defer k.expiry.watch(&k.g.tasks, k.g.rules, k.client, origin)()
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

// patient reads with a bound on each silence.
type patient struct {
	io.Reader
	conn *net.TCPConn
}

func (p patient) Read(b []byte) (int, error) {
	p.conn.SetReadDeadline(time.Now().Add(idle))
	return p.Reader.Read(b)
}
