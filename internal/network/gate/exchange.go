package gate

import (
	"bufio"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/httpfwd"
	"ringfence.dev/ringfence/internal/network/relay"
	"ringfence.dev/ringfence/internal/network/upstream"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

const (
	keepAlive = 5 * time.Minute // that a client may be silent between two requests
	halfOpen  = 2 * time.Minute // that an origin may be silent once its client sends no more
	longest   = 6 * time.Hour   // to send one request
)

// exchange is the requests of one connection in the clear, and their answers.
type exchange struct {
	call   *call
	client rung.Conn
	origin relay.Conn
	via    *upstream.Proxy // that origin is; nil: the origin itself
	in     *bufio.Reader   // what the client sends
	asked  pending
}

// maxAsked bounds how many requests may wait for their answers; the next one waits
// with its client.
const maxAsked = 128

// pending are the methods of the requests that have no answer yet, in their order: an
// answer to HEAD ends otherwise than one to GET.
type pending struct {
	methods chan string
	over    chan struct{} // closed when no more answers come
}

func newPending() pending { return pending{make(chan string, maxAsked), make(chan struct{})} }

// add is called before a request is sent, so that no answer can be there before it.
func (p pending) add(method string) bool {
	select {
	case p.methods <- method:
		return true
	case <-p.over:
		return false
	}
}

// run passes on one request after the other, and their answers. The first was judged.
func (x *exchange) run(head *httpfwd.Head) {
	k := x.call
	defer k.expiry.watch(&k.g.tasks, k.g.rules, x.client, x.origin)()
	var received int64
	var ours atomic.Bool // the last word is
	x.asked = newPending()
	k.g.tasks.Go(func() {
		defer close(x.asked.over)
		var err error
		received, err = x.answers()
		switch {
		case ours.Load():
		case err != nil:
			reset(x.client)
		default:
			x.client.CloseWrite()
			x.client.CloseRead() // who would answer another request?
		}
	})
	sent, err := x.forward(head)
	wait := halfOpen
	if err != nil && !errors.Is(err, io.EOF) {
		// Let the answers to what was passed on arrive before ours.
		ours.Store(true)
		wait = 2 * time.Second
	}
	if errors.Is(err, errBudget) || errors.Is(err, errDecoy) {
		reset(x.origin) // a request that was cut must not look like a whole one
	}
	x.origin.CloseWrite()
	x.await(wait)
	k.ended(sent, received, err)
	if err != nil {
		k.badRequest(err)
	}
}

// forward returns how much was sent and why it ended: nil when the client said that
// no request follows.
func (x *exchange) forward(head *httpfwd.Head) (sent int64, err error) {
	k := x.call
	up, direct := k.upward(x.origin, true), io.Reader(nil)
	if s := x.client.Socket(); s != nil && up == io.Writer(x.origin) {
		direct = s
	}
	for {
		x.client.SetReadDeadline(time.Now().Add(longest))
		if !x.asked.add(head.Method) {
			return sent, io.EOF
		}
		n, err := x.write(up, head)
		sent += n
		if err != nil {
			return sent, err
		}
		n, err = httpfwd.CopyBody(up, x.in, direct, head)
		sent += n
		if err != nil || head.Close {
			return sent, err
		}
		if head, err = x.next(); err != nil {
			return sent, err
		}
		k.accept = head.Accept
		if err = k.judge(head); err == nil {
			err = k.record(journal.Decision, journal.Allow, head.Method)
		}
		if err != nil {
			return sent, err
		}
	}
}

// write sends a head, in the form that the origin or the proxy takes.
func (x *exchange) write(up io.Writer, head *httpfwd.Head) (int64, error) {
	host := hostField(x.call.target)
	if x.via != nil {
		return head.WriteVia(up, host, x.via.Authorization())
	}
	return head.Write(up, host)
}

// next waits for the next request as long as answers are still on their way, and then
// for a while.
func (x *exchange) next() (*httpfwd.Head, error) {
	for {
		x.client.SetReadDeadline(time.Now().Add(keepAlive))
		_, err := x.in.Peek(1)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || silent(x.client) >= keepAlive {
			return nil, err
		}
	}
	x.client.SetReadDeadline(time.Now().Add(handshake))
	return httpfwd.ReadHead(x.in)
}

// answers passes on what the origin says, one answer after the other. A head that leads
// the client elsewhere does so no more; what cannot be read in one way alone is not
// passed on.
func (x *exchange) answers() (n int64, err error) {
	r := bufio.NewReader(x.origin)
	for {
		if _, err := r.Peek(1); err == io.EOF {
			return n, nil // between two answers
		} else if err != nil {
			return n, err
		}
		var method string
		select {
		case method = <-x.asked.methods:
		default:
			return n, nil // nobody asked: some servers say so that they close
		}
		for interim := true; interim; {
			a, err := httpfwd.ReadAnswer(r, method)
			if err != nil {
				return n, err
			}
			if x.via != nil && a.Status == 407 {
				return n, x.loginRefused()
			}
			interim = a.Interim()
			m, err := a.Copy(x.client, r, x.origin)
			n += m
			if err != nil {
				return n, err
			}
		}
	}
}

// loginRefused tells of a proxy that wants another login than the one it got. Its own
// answer would ask the client for one.
func (x *exchange) loginRefused() error {
	k := x.call
	d, _ := k.g.refusal(k.target, x.via.LoginRefused())
	k.g.records.refuse(journal.Record{Event: journal.Decision, Verdict: journal.Deny, Conn: k.id, Via: k.via, Protocol: string(address.HTTP),
		Name: string(k.target.Name), Port: k.target.Port, Rule: d.Rule, Reason: d.Reason})
	_, err := x.client.Write(httpfwd.Refusal(403, "Forbidden", "", httpfwd.Denial{Rule: d.Rule, Reason: d.Reason, Host: k.target.Host(), Port: k.target.Port}))
	return err
}

// await waits for the last answers, and ends them when the client was sent nothing for
// a while.
func (x *exchange) await(wait time.Duration) {
	for {
		select {
		case <-x.asked.over:
			return
		case <-time.After(wait):
		}
		if silent(x.client) >= wait {
			x.origin.SetReadDeadline(time.Unix(1, 0))
			<-x.asked.over
			return
		}
	}
}

// silent is how long ago something was last sent to a client.
func silent(c rung.Conn) time.Duration {
	if ago, known := c.Sent(); known {
		return ago
	}
	return keepAlive
}

// hostField is the Host that the origin gets.
func hostField(t address.Target) string {
	host := t.Host()
	if t.Addr.Is6() {
		host = "[" + host + "]"
	}
	if t.Port != 80 {
		host += ":" + portText(t.Port)
	}
	return host
}
