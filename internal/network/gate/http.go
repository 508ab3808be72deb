package gate

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// keepAlive is how long a client may be silent between two requests.
const keepAlive = 5 * time.Minute

// http judges every request of a connection in the clear, and writes each anew for
// the origin: what the origin reads is what was judged.
func (k *call) http() {
	origin := k.dialAhead()
	r := k.buffered()
	k.client.SetReadDeadline(time.Now().Add(handshake))
	head, err := httpfwd.ReadHead(r)
	k.heard = true
	if err == nil {
		k.accept = head.Accept
		err = k.judge(head)
	}
	if err != nil {
		origin.cancel()
		k.badRequest(err)
		return
	}
	c, dialErr := origin.take()
	if dialErr != nil {
		k.failed(dialErr)
		return
	}
	if !k.g.hold(c) {
		return
	}
	defer k.g.release(c)
	boundUnread(k.client)
	if k.recordRequest(head.Method) != nil {
		k.unrecorded()
		return
	}
	k.requests(c, r, head)
}

// judge holds a request to the name that the connection was allowed for, and to the
// rules about methods and paths.
func (k *call) judge(h *httpfwd.Head) error {
	host := h.Host
	if h.Form == httpfwd.Absolute {
		host = h.Authority
	}
	if h.Form == httpfwd.Authority {
		return &httpfwd.Error{Status: 405, Reason: "CONNECT is for the proxy endpoint"}
	}
	if err := k.judgeRequest(h.Method, host, h.Target); err != nil {
		return err
	}
	return k.readsClear(h)
}

func (k *call) judgeRequest(method, authority, path string) error {
	if err := k.sameHost(authority); err != nil {
		return err
	}
	if look := k.inspector(); look != nil && strings.Contains(path, "%") {
		// As a server reads it; what is sent as it stands is searched with all else.
		if plain, err := url.PathUnescape(path); err == nil && look([]byte(plain)) != nil {
			return &deniedError{Decision{Verdict: Deny, Rule: "decoys", Reason: errDecoy.Error()}}
		}
	}
	q := Request{Target: k.target, Method: method, Path: path}
	d := k.g.rules.Decide(q)
	if k.target.Name == "" {
		d = k.rule // a rule about an address speaks of no requests
	}
	if d.Verdict != Allow {
		return &deniedError{d}
	}
	k.rule = d
	k.expiry.set(d.Until, q)
	return nil
}

// recordRequest writes down that a request passes.
func (k *call) recordRequest(method string) error {
	r := k.line(journal.Decision)
	r.Verdict, r.Method = journal.Allow, method
	return k.g.record(r)
}

// deniedError is a request that the rules deny.
type deniedError struct{ d Decision }

func (e *deniedError) Error() string { return e.d.Reason }

// sameHost compares what a request says with what the connection was allowed for.
func (k *call) sameHost(authority string) error {
	other := &deniedError{Decision{Verdict: Deny, Rule: k.rule.Rule, Source: k.rule.Source,
		Reason: "the request is for another host than the one that was looked up"}}
	host, port := authority, k.target.Port
	if i := strings.LastIndexByte(authority, ':'); i > strings.LastIndexByte(authority, ']') {
		n, err := address.ParsePort(authority[i+1:])
		if err != nil {
			return other
		}
		host, port = authority[:i], n
	} else if port != 80 {
		return other // without a port the request is for port 80
	}
	t, err := address.ParseHost(host)
	if err != nil || port != k.target.Port || t.Name != k.target.Name && !mutated("host") || t.Addr != k.target.Addr {
		return other
	}
	return nil
}

// badRequest answers what cannot be passed on.
func (k *call) badRequest(err error) {
	var denied *deniedError
	var bad *httpfwd.Error
	switch {
	case errors.As(err, &denied):
		k.rule = denied.d
		k.refuse()
	case errors.As(err, &bad):
		k.rule = Decision{Verdict: Deny, Rule: "strict HTTP", Reason: bad.Reason}
		k.denied()
		k.answer(bad.Status, "Refused", k.denial(bad.Reason))
	case errors.Is(err, errBudget):
		k.rule = Decision{Verdict: Deny, Rule: "budget", Reason: errBudget.Error()}
		k.answer(413, "Content Too Large", k.denial(k.rule.Reason))
	case errors.Is(err, io.EOF):
		k.client.Close()
	default: // too slow, gone, or not recorded
		k.drop()
	}
}

// requests passes on one request after the other, and their answers.
func (k *call) requests(origin *net.TCPConn, r *bufio.Reader, head *httpfwd.Head) {
	defer k.expiry.watch(k.g, k.client, origin)()
	var received int64
	var ours atomic.Bool // the last word is
	back := make(chan struct{})
	asked := pending{methods: make(chan string, maxAsked), over: back}
	k.g.spawn(func() {
		defer close(back)
		var err error
		received, err = k.answers(origin, asked)
		switch {
		case ours.Load():
		case err != nil:
			reset(k.client)
		default:
			k.client.CloseWrite()
			k.client.CloseRead() // who would answer another request?
		}
	})
	sent, err := k.forward(origin, r, head, asked)
	wait := halfOpen
	if err != nil && !errors.Is(err, io.EOF) {
		// Let the answers to what was passed on arrive before ours.
		ours.Store(true)
		wait = 2 * time.Second
	}
	if errors.Is(err, errBudget) || errors.Is(err, errDecoy) {
		reset(origin) // a request that was cut must not look like a whole one
	}
	origin.CloseWrite()
	k.await(origin, back, wait)
	k.ended(sent, received, err)
	if err != nil {
		k.badRequest(err)
	}
}

// halfOpen is how long an origin may be silent once its client sends no more.
const halfOpen = 2 * time.Minute

// longest bounds the sending of one request.
const longest = 6 * time.Hour

// forward returns how much was sent and why it ended: nil when the client said that
// no request follows.
func (k *call) forward(origin *net.TCPConn, r *bufio.Reader, head *httpfwd.Head, asked pending) (sent int64, err error) {
	up, direct := k.upward(origin, true), io.Reader(k.client)
	if up != io.Writer(origin) {
		direct = nil
	}
	for {
		k.client.SetReadDeadline(time.Now().Add(longest))
		if !asked.add(head.Method) {
			return sent, io.EOF
		}
		n, err := head.Write(up, k.hostField())
		sent += n
		if err != nil {
			return sent, err
		}
		n, err = httpfwd.CopyBody(up, r, direct, head)
		sent += n
		if err != nil || head.Close {
			return sent, err
		}
		if head, err = k.nextHead(r); err != nil {
			return sent, err
		}
		k.accept = head.Accept
		if err = k.judge(head); err == nil {
			err = k.recordRequest(head.Method)
		}
		if err != nil {
			return sent, err
		}
	}
}

// nextHead waits for the next request as long as answers are still on their way, and
// then for a while.
func (k *call) nextHead(r *bufio.Reader) (*httpfwd.Head, error) {
	for {
		k.client.SetReadDeadline(time.Now().Add(keepAlive))
		_, err := r.Peek(1)
		if err == nil {
			break
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) || silent(k.client) >= keepAlive {
			return nil, err
		}
	}
	k.client.SetReadDeadline(time.Now().Add(handshake))
	return httpfwd.ReadHead(r)
}

// boundUnread lets the kernel end a connection whose client does not take what it is
// sent: what is on its way to it is in nobody's hands that could set a deadline.
func boundUnread(c *net.TCPConn) {
	if raw, err := c.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) {
			unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(keepAlive.Milliseconds()))
		})
	}
}

// silent is how long ago something was last sent to a client.
func silent(c *net.TCPConn) (ago time.Duration) {
	ago = keepAlive
	raw, err := c.SyscallConn()
	if err != nil {
		return ago
	}
	raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			ago = time.Duration(info.Last_data_sent) * time.Millisecond
		}
	})
	return ago
}

// hostField is the Host that the origin gets.
func (k *call) hostField() string {
	host := k.target.Host()
	if k.target.Addr.Is6() {
		host = "[" + host + "]"
	}
	if k.target.Port != 80 {
		host += ":" + portText(k.target.Port)
	}
	return host
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
