package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/clienthello"
	"ringfence.dev/ringfence/internal/network/relay"
	"ringfence.dev/ringfence/internal/network/upstream"
)

// tls relays a client that asks for the very name it was allowed for. The origin is
// dialled meanwhile; it gets no byte before the verdict.
func (k *call) tls() {
	origin := k.dialAhead(false)
	raw, err := k.hello()
	if errors.Is(err, errUnused) {
		origin.cancel()
		k.unused()
		return
	}
	if err != nil {
		origin.cancel()
		k.rule = Decision{Verdict: Deny, Rule: k.rule.Rule, Source: k.rule.Source, Reason: err.Error()}
		k.refuse()
		return
	}
	c, err := origin.take()
	if err != nil {
		k.failed(err)
		return
	}
	if !k.g.sockets.hold(c) {
		return
	}
	defer k.g.sockets.release(c)
	if !k.joins(c) {
		k.ended(0, 0, relay.ErrCut)
		return
	}
	n, err := (&greeting{k.client, c, k, k.upward(c, false), k.target.Name}).relay(raw)
	if err != nil {
		if second := (*secondHelloError)(nil); errors.As(err, &second) {
			k.rule.Reason = err.Error()
			k.record(journal.Decision, journal.Deny, "")
		}
		reset(c)
		reset(k.client)
		k.ended(n.Sent, n.Received, err)
		return
	}
	k.client.SetDeadline(time.Time{})
	c.SetDeadline(time.Time{})
	k.carry(c, n)
}

// hello reads the ClientHello, which must name the target.
func (k *call) hello() (raw []byte, err error) {
	k.client.SetReadDeadline(time.Now().Add(handshake))
	h, raw, err := k.g.hellos.read(k)
	if err != nil && len(raw) == 0 && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, errHellos) {
		return nil, errUnused
	}
	if err != nil {
		return nil, fmt.Errorf("port %d is for TLS: %w", k.target.Port, helloReason(err))
	}
	return raw, sameName(k.target.Name, h.ServerName)
}

// hellos bounds how many ClientHellos are read at a time: each may take 64 KiB.
type hellos struct {
	slots chan struct{}
	done  <-chan struct{} // the gate is closed
}

func (h hellos) read(r io.Reader) (clienthello.Hello, []byte, error) {
	select {
	case h.slots <- struct{}{}:
	case <-time.After(handshake):
		return clienthello.Hello{}, nil, errHellos
	case <-h.done:
		return clienthello.Hello{}, nil, net.ErrClosed
	}
	defer func() { <-h.slots }()
	return clienthello.Read(r)
}

var (
	errHellos = errors.New("too many clients say hello at once")
	// errUnused is a connection that its client closed before it said anything.
	errUnused = errors.New("it was closed unused")
)

// unused ends a call whose client opened a connection for later and did not need it: no
// rule refused anything.
func (k *call) unused() {
	k.client.Close()
	k.ended(0, 0, nil)
}

// helloReason leaves out what only the machine would care about.
func helloReason(err error) error {
	for _, known := range []error{clienthello.ErrNotTLS, clienthello.ErrSSLv2, clienthello.ErrMalformed, clienthello.ErrTooLong, clienthello.ErrTruncated} {
		if errors.Is(err, known) {
			return known
		}
	}
	return errors.New("no ClientHello came in time")
}

// sameName holds a client to the name that it was allowed for.
func sameName(allowed address.Name, sent string) error {
	if sent == "" {
		return errors.New("the ClientHello names no server")
	}
	n, err := address.ParseName(sent)
	switch {
	case err != nil:
		return errors.New("the ClientHello names no valid server")
	case n != allowed && !mutated("sni"):
		return errors.New("the ClientHello asks for another server than the one that was looked up")
	}
	return nil
}

// ahead is a dial that goes on while the client is still being read. The call hears of
// it when it takes or cancels the dial: until then both go on by themselves.
type ahead struct {
	call *call
	done chan struct{}
	stop context.CancelFunc
	c    relay.Conn
	addr string
	via  *upstream.Proxy
	err  error
}

// dialAhead begins to dial; clear is for requests that are read here.
func (k *call) dialAhead(clear bool) *ahead {
	ctx, stop := context.WithCancel(k.g.ctx)
	a := &ahead{call: k, done: make(chan struct{}), stop: stop}
	target, named := k.target, k.rule.Named
	k.g.tasks.Go(func() {
		defer close(a.done)
		if clear {
			a.c, a.addr, a.via, a.err = k.g.dialler.reachClear(ctx, target, named)
			return
		}
		a.c, a.addr, a.err = k.g.dialler.reach(ctx, target, named)
	})
	return a
}

func (a *ahead) take() (relay.Conn, error) {
	<-a.done
	a.stop()
	a.call.addr = a.addr
	return a.c, a.err
}

// cancel ends the dial, or closes what came of it.
func (a *ahead) cancel() {
	a.stop()
	if c, _ := a.take(); c != nil {
		reset(c)
	}
}

// retryRandom is the random of a ServerHello that is a HelloRetryRequest (RFC 8446,
// 4.1.3): the client is to say hello again.
var retryRandom = []byte{0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
	0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c}

// greeting is how TLS begins between a client and an origin.
type greeting struct {
	client, origin net.Conn
	in             io.Reader // what the client sends
	up             io.Writer // the way to the origin
	name           address.Name
}

// secondHelloError is a client that, asked to say hello again, says something else.
type secondHelloError struct{ error }

func (e *secondHelloError) Error() string { return "the second ClientHello: " + e.error.Error() }

// relay passes the hello on and looks at the first answer: a client that is asked to
// say hello again must name the same server again.
func (g *greeting) relay(raw []byte) (n relay.Counts, err error) {
	const random = 5 + 4 + 2 // after the headers of record and message, and the version
	deadline := time.Now().Add(2 * handshake)
	g.client.SetDeadline(deadline)
	g.origin.SetDeadline(deadline)
	sent, err := g.up.Write(raw)
	n.Sent = int64(sent)
	if err != nil {
		return n, err
	}
	answer, err := firstAnswer(g.origin, random+len(retryRandom))
	if err != nil {
		return n, err
	}
	wrote, err := g.client.Write(answer)
	n.Received = int64(wrote)
	if err != nil || len(answer) < random+len(retryRandom) || answer[0] != 22 || !bytes.Equal(answer[random:random+len(retryRandom)], retryRandom) {
		return n, err
	}
	again, err := g.again()
	n.Sent += again
	return n, err
}

// firstAnswer reads what a server says first: enough to tell its hello, or less if it
// says something else or ends.
func firstAnswer(r io.Reader, enough int) ([]byte, error) {
	b := make([]byte, 0, 4096)
	for len(b) < enough && (len(b) == 0 || b[0] == 22) {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, nil
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// again reads the second ClientHello. What may come before it, and is not
// another hello, passes: a change of cipher, early data.
func (g *greeting) again() (sent int64, err error) {
	const maxBefore, cipher, data = 1 << 20, 20, 23
	for sent < maxBefore {
		var head [5]byte
		if _, err := io.ReadFull(g.in, head[:]); err != nil {
			return sent, err
		}
		if head[0] == cipher || head[0] == data {
			record := append(head[:], make([]byte, int(head[3])<<8|int(head[4]))...)
			if _, err := io.ReadFull(g.in, record[5:]); err != nil {
				return sent, err
			}
			n, err := g.up.Write(record)
			if sent += int64(n); err != nil {
				return sent, err
			}
			continue
		}
		h, raw, err := clienthello.Read(io.MultiReader(bytes.NewReader(head[:]), g.in))
		if err == nil {
			err = sameName(g.name, h.ServerName)
		}
		if err != nil {
			return sent, &secondHelloError{err}
		}
		n, err := g.up.Write(raw)
		return sent + int64(n), err
	}
	return sent, errors.New("too much before the second ClientHello")
}
