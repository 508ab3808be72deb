package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/clienthello"
	"ringfence.dev/ringfence/internal/network/relay"
)

// tls relays a client that asks for the very name it was allowed for. The origin is
// dialled meanwhile; it gets no byte before the verdict.
func (k *call) tls() {
	origin := k.dialAhead()
	k.client.SetReadDeadline(time.Now().Add(handshake))
	h, raw, err := k.readHello()
	if err == nil {
		err = k.sameName(h.ServerName)
	} else {
		err = fmt.Errorf("port %d is for TLS: %w", k.target.Port, helloReason(err))
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
	if !k.g.hold(c) {
		return
	}
	defer k.g.release(c)
	n, err := k.greet(c, raw)
	if err != nil {
		reset(c)
		k.drop()
		k.ended(n.Sent, n.Received, err)
		return
	}
	k.client.SetDeadline(time.Time{})
	c.SetDeadline(time.Time{})
	k.carry(c, n)
}

// readHello bounds how many hellos are read at a time: each may take 64 KiB.
func (k *call) readHello() (clienthello.Hello, []byte, error) {
	select {
	case k.g.hellos <- struct{}{}:
	case <-time.After(handshake):
		return clienthello.Hello{}, nil, errors.New("too many clients say hello at once")
	case <-k.g.ctx.Done():
		return clienthello.Hello{}, nil, k.g.ctx.Err()
	}
	defer func() { <-k.g.hellos }()
	return clienthello.Read(k)
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
func (k *call) sameName(sent string) error {
	if sent == "" {
		return errors.New("the ClientHello names no server")
	}
	n, err := address.ParseName(sent)
	switch {
	case err != nil:
		return errors.New("the ClientHello names no valid server")
	case n != k.target.Name && !mutated("sni"):
		return errors.New("the ClientHello asks for another server than the one that was looked up")
	}
	return nil
}

// ahead is a dial that goes on while the client is still being read.
type ahead struct {
	done chan struct{}
	stop context.CancelFunc
	c    *net.TCPConn
	err  error
}

func (k *call) dialAhead() *ahead {
	ctx, stop := context.WithCancel(k.g.ctx)
	a := &ahead{done: make(chan struct{}), stop: stop}
	k.g.spawn(func() {
		defer close(a.done)
		a.c, a.err = k.dial(ctx)
	})
	return a
}

func (a *ahead) take() (*net.TCPConn, error) {
	<-a.done
	a.stop()
	return a.c, a.err
}

// cancel ends the dial, or closes what came of it. It waits: what the dial knows of
// the call is the dial's to write until then.
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

// greet passes the hello on and looks at the first answer: a client that is asked to
// say hello again must name the same server again.
func (k *call) greet(origin *net.TCPConn, raw []byte) (n relay.Counts, err error) {
	const random = 5 + 4 + 2 // after the headers of record and message, and the version
	deadline := time.Now().Add(2 * handshake)
	k.client.SetDeadline(deadline)
	origin.SetDeadline(deadline)
	up := k.upward(origin, false)
	sent, err := up.Write(raw)
	n.Sent = int64(sent)
	if err != nil {
		return n, err
	}
	answer, err := firstAnswer(origin, random+len(retryRandom))
	if err != nil {
		return n, err
	}
	wrote, err := k.client.Write(answer)
	n.Received = int64(wrote)
	if err != nil || len(answer) < random+len(retryRandom) || answer[0] != 22 || !bytes.Equal(answer[random:random+len(retryRandom)], retryRandom) {
		return n, err
	}
	again, err := k.helloAgain(up)
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

// helloAgain reads the second ClientHello. What may come before it, and is not
// another hello, passes: a change of cipher, early data.
func (k *call) helloAgain(origin io.Writer) (sent int64, err error) {
	const maxBefore, cipher, data = 1 << 20, 20, 23
	for sent < maxBefore {
		var head [5]byte
		if _, err := io.ReadFull(k, head[:]); err != nil {
			return sent, err
		}
		if head[0] == cipher || head[0] == data {
			record := append(head[:], make([]byte, int(head[3])<<8|int(head[4]))...)
			if _, err := io.ReadFull(k, record[5:]); err != nil {
				return sent, err
			}
			n, err := origin.Write(record)
			if sent += int64(n); err != nil {
				return sent, err
			}
			continue
		}
		h, raw, err := clienthello.Read(io.MultiReader(bytes.NewReader(head[:]), k))
		if err == nil {
			err = k.sameName(h.ServerName)
		}
		if err != nil {
			k.rule.Reason = "the second ClientHello: " + err.Error()
			k.record(journal.Decision, journal.Deny, "")
			return sent, err
		}
		n, err := origin.Write(raw)
		return sent + int64(n), err
	}
	return sent, errors.New("too much before the second ClientHello")
}
