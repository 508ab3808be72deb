package broker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"ringfence.dev/ringfence/internal/address"
)

// wire is what requests leave by. One call is one request on one connection, and no
// redirect. The usual transport sends a request again by itself where a connection
// breaks or a server refuses it, as often as the server likes and without a word to
// anybody; with a credential on it that would be a use that no record tells of. Who
// wants to send again does so himself: see carrier.
//
// Trailers never leave: they come after the verdict.
type wire struct {
	t   *http.Transport
	old *http.Transport // speaks HTTP/1 alone

	mu    sync.Mutex
	lines map[way][]*line // open connections; the oldest first
}

// way is where a line leads.
type way struct {
	scheme, addr string
	old          bool // by HTTP/1: what is to change its protocol
}

// line is one connection, of HTTP/1 or HTTP/2.
type line struct {
	*http.ClientConn
	idle *time.Timer // closes it
}

const (
	idleLine = 90 * time.Second
	maxIdle  = 32 // lines to one address that nobody uses
)

// Transport makes what requests leave by. Nothing is asked of the environment, and
// answers come as they are: a compressed one could not be searched. roots are whose
// certificates are believed; nil: whose the system believes. record is told, at the end
// of each request, how much it sent and received.
func Transport(reach Reach, roots *x509.CertPool, record Recorder) http.RoundTripper {
	return tolled{newWire(reach, roots), record}
}

func newWire(reach Reach, roots *x509.CertPool) *wire {
	w := &wire{t: transport(reach, roots), old: transport(reach, roots), lines: map[way][]*line{}}
	w.old.Protocols = new(http.Protocols)
	w.old.Protocols.SetHTTP1(true)
	return w
}

func transport(reach Reach, roots *x509.CertPool) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			t, err := address.ParseTarget(addr)
			if err != nil {
				return nil, err
			}
			return reach(ctx, t)
		},
		ForceAttemptHTTP2: true, DisableCompression: true, TLSClientConfig: &tls.Config{RootCAs: roots},
		TLSHandshakeTimeout: 15 * time.Second, IdleConnTimeout: idleLine,
		MaxResponseHeaderBytes: 256 << 10, ExpectContinueTimeout: 5 * time.Second,
	}
}

// lost is a request that may have left and got no answer.
type lost struct {
	error
	used bool // the line had been used before: it may have been closed for its age
}

func (l *lost) Unwrap() error { return l.error }

// fresh is under what a context says that the request wants a line of its own.
type fresh struct{}

// RoundTrip implements http.RoundTripper. A line that turns out to be closed before
// anything was said on it is no attempt: another one is taken.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	key := way{r.URL.Scheme, addressOf(r.URL), r.Header.Get("Upgrade") != ""}
	for {
		l, used, err := w.line(r.Context(), key)
		if err != nil {
			closeBody(r)
			return nil, err
		}
		var said atomic.Bool
		out := r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{WroteHeaderField: func(string, []string) { said.Store(true) }}))
		out.Trailer = nil
		resp, err := l.RoundTrip(out)
		if err == nil {
			return resp, nil
		}
		if r.Context().Err() != nil {
			return nil, err // the line is not to blame
		}
		w.drop(key, l)
		if said.Load() {
			return nil, &lost{err, used}
		}
		again, ok := rewound(r)
		if !used || !ok {
			return nil, err
		}
		r = again
	}
}

// line finds a line with room for a request, or opens one.
func (w *wire) line(ctx context.Context, key way) (l *line, used bool, err error) {
	if ctx.Value(fresh{}) == nil {
		w.mu.Lock()
		open := slices.Clone(w.lines[key])
		w.mu.Unlock()
		for _, l := range open { // without the lock: a line tells of its state at once, see watch
			if l.Reserve() == nil {
				return l, true, nil
			}
		}
	}
	t := w.t
	if key.old {
		t = w.old
	}
	cc, err := t.NewClientConn(ctx, key.scheme, key.addr)
	if err != nil {
		return nil, false, err
	}
	if err := cc.Reserve(); err != nil {
		cc.Close()
		return nil, false, err
	}
	l = &line{ClientConn: cc}
	l.idle = time.AfterFunc(idleLine, func() { w.rest(key, l) })
	w.mu.Lock()
	w.lines[key] = append(w.lines[key], l)
	w.mu.Unlock()
	cc.SetStateHook(func(*http.ClientConn) { w.watch(key, l) })
	return l, false, nil
}

// watch is told of each change of a line.
func (w *wire) watch(key way, l *line) {
	if l.Err() != nil {
		w.drop(key, l)
		return
	}
	if l.InFlight() > 0 {
		return
	}
	w.mu.Lock()
	kept, idle := slices.Contains(w.lines[key], l), 0
	for _, other := range w.lines[key] {
		if other.InFlight() == 0 {
			idle++
		}
	}
	w.mu.Unlock()
	if !kept || idle > maxIdle {
		w.drop(key, l)
		return
	}
	l.idle.Reset(idleLine)
}

// drop gives a line no more requests. Those that are on their way end as they will:
// with the last of them the line is closed.
func (w *wire) drop(key way, l *line) {
	w.mu.Lock()
	w.lines[key] = slices.DeleteFunc(w.lines[key], func(other *line) bool { return other == l })
	if len(w.lines[key]) == 0 {
		delete(w.lines, key)
	}
	w.mu.Unlock()
	l.idle.Stop()
	if l.Err() == nil && l.InFlight() == 0 {
		l.Close()
	}
}

// rest ends a line that nobody has used for long.
func (w *wire) rest(key way, l *line) {
	if l.InFlight() == 0 {
		w.drop(key, l)
	}
}

// addressOf is where a URL leads.
func addressOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func closeBody(r *http.Request) {
	if r.Body != nil {
		r.Body.Close()
	}
}

// rewound is a request that can be sent once more; not ok where its body was read.
func rewound(r *http.Request) (again *http.Request, ok bool) {
	if r.Body == nil || r.Body == http.NoBody {
		return r, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, false
	}
	again = r.WithContext(r.Context())
	again.Body = body
	return again, true
}

// streamError has the shape of what HTTP/2 says of a stream that was reset: net/http
// hides the type and converts it to any that has these fields.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string { return "the stream was reset" }

const refusedStream = 7

// mayResend holds for a request that got no answer and that can be sent once more
// without being done twice: the server says that it did not look at it; or it only
// reads, on a line that the server may have closed for its age.
func mayResend(r *http.Request, err error) bool {
	var l *lost
	if !errors.As(err, &l) || r.Context().Err() != nil {
		return false
	}
	var reset streamError
	if errors.As(err, &reset) {
		return reset.Code == refusedStream
	}
	var late net.Error
	switch {
	case strings.Contains(err.Error(), "graceful shutdown GOAWAY"): // the words of net/http, which hides the error
		return true
	case errors.As(err, &late) && late.Timeout():
		return false
	}
	return l.used && reads(r.Method)
}
