// Package broker keeps the real credentials of a session and uses them on the agent's
// behalf. Inside there are phantoms, made for this session, which mean something to
// this broker alone. A request is judged first, by method, path and where it matters
// by its body; then whatever credential it carries is taken off, the real one is put
// on, and it goes to the one host it is for. What comes back is searched for the real
// credential before it enters.
//
// Two doors lead here, both held by the gate: an endpoint in plain HTTP on the
// loopback inside, for clients that can be told a base URL; and TLS for the broker's
// hosts, terminated with the session's own authority, for those that cannot.
//
// Left at risk: what an allowed request says to an allowed host. The agent can use
// what the rules let it use, and only as long as the session lives.
package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/netns"
)

// Endpoint is where the broker is found inside.
var Endpoint = fmt.Sprintf("http://127.0.0.1:%d", netns.Broker)

// maxHosts bounds how many hosts one session's broker speaks for.
const maxHosts = 256

// Site is one thing that the broker serves.
type Site struct {
	Prefix  string         // of the endpoint, as "/anthropic"; "" for none
	Whole   bool           // the handler sees paths with the prefix
	Hosts   []address.Name // for which TLS ends here
	Handler http.Handler
	// Takes says which requests to its hosts are the site's; what it leaves is read as at
	// any common host, where the host is one. nil: all.
	Takes func(*http.Request) bool
	// Model is set for the API of a model. A decoy on its way there is told and not
	// stopped: an agent that printed its environment has it in its conversation.
	Model bool
	// Stray says which requests to the endpoint are the site's whatever their prefix is;
	// nil: none.
	Stray func(*http.Request) bool
	// Common is set for the one site of the common hosts.
	Common bool
}

// Broker serves the sites of one session.
type Broker struct {
	sites []Site
	owned map[address.Name]http.Handler
	takes map[address.Name]func(*http.Request) bool
	shut  map[address.Name]string // owned, and not served by TLS: why
	ca    *authority

	commons policy.Commons
	judge   *serviceapi.Common
	common  http.Handler // nil until it is served

	mu      sync.Mutex
	plain   *feed
	secure  *feed
	servers []*http.Server
	closed  bool
}

// New makes a broker that serves nothing yet. hosts are those for which TLS ends here:
// they are written into the certificate of its authority. So are the common ones,
// which are the broker's besides.
func New(session string, hosts []address.Name, commons policy.Commons) (*Broker, error) {
	if len(hosts) > maxHosts {
		return nil, fmt.Errorf("more than %d brokered hosts", maxHosts)
	}
	b := &Broker{owned: map[address.Name]http.Handler{}, takes: map[address.Name]func(*http.Request) bool{}, shut: map[address.Name]string{}, plain: newFeed(), secure: newFeed(),
		commons: commons, judge: &serviceapi.Common{}}
	var names []string
	for _, h := range hosts {
		b.owned[h] = nil
		names = append(names, string(h))
	}
	for _, c := range commons.List {
		// Of a star it is the same: what lies below.
		if name := string(c.Rule.Name); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, o := range commons.Opens {
		if err := b.judge.Open(func(host string) bool { return o.Host.Covers(address.Name(host)) }, o.Request); err != nil {
			return nil, fmt.Errorf("[broker] open: %w", err)
		}
	}
	if len(names) > 0 {
		var err error
		if b.ca, err = newAuthority(session, names); err != nil {
			return nil, fmt.Errorf("certificate authority of the session: %w", err)
		}
	}
	return b, nil
}

// Certificate is the authority's, in PEM; nil if the broker owns no host.
func (b *Broker) Certificate() []byte {
	if b.ca == nil {
		return nil
	}
	return b.ca.pem()
}

// Start begins to serve. It is called once, before the gate opens.
func (b *Broker) Start(sites []Site) error {
	for _, s := range sites {
		for _, h := range s.Hosts {
			if was, ok := b.owned[h]; !ok || was != nil {
				return fmt.Errorf("host %s is not the broker's, or served twice", h)
			}
			b.owned[h] = s.Handler
			if s.Takes != nil {
				b.takes[h] = s.Takes
			}
		}
		if s.Common {
			b.common = s.Handler
		}
		if s.Prefix != "" || s.Stray != nil {
			b.sites = append(b.sites, s)
		}
	}
	b.serve(b.plain, http.HandlerFunc(b.local))
	if b.ca == nil {
		return nil
	}
	conf := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}, GetCertificate: b.certificate}
	b.serve(tls.NewListener(b.secure, conf), http.HandlerFunc(b.remote))
	return nil
}

// Bounds of what a client may do to us.
const (
	headTime  = 20 * time.Second
	bodyTime  = 5 * time.Minute // for a body that is held to be judged
	idleTime  = 5 * time.Minute
	headBytes = 64 << 10
)

func (b *Broker) serve(l net.Listener, h http.Handler) {
	s := &http.Server{
		Handler: survive(h), ReadHeaderTimeout: headTime, IdleTimeout: idleTime, MaxHeaderBytes: headBytes,
		ErrorLog: log.New(io.Discard, "", 0), // what a client can cause does not reach the terminal
		HTTP2:    &http.HTTP2Config{MaxConcurrentStreams: 64},
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.servers = append(b.servers, s)
	go s.Serve(l)
}

// survive makes a fault of ours cost one request.
func survive(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if fault := recover(); fault != nil {
				panic(http.ErrAbortHandler) // says nothing, to nobody: a fault may hold a credential
			}
		}()
		h.ServeHTTP(w, r)
	})
}

// certificate answers for owned hosts alone.
func (b *Broker) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	n, err := address.ParseName(hello.ServerName)
	if _, ok := b.owned[n]; err != nil || !ok && !b.commons.Has(n) {
		return nil, errors.New("not a host of the broker's")
	}
	return b.ca.leaf(n)
}

// Shut closes a host: it is the broker's, and reached through the endpoint alone.
func (b *Broker) Shut(n address.Name, why string) { b.shut[n] = why }

// Owns implements gate.Broker.
func (b *Broker) Owns(n address.Name) bool {
	_, served := b.owned[n]
	_, shut := b.shut[n]
	return served || shut || b.commons.Has(n)
}

// Clear implements gate.Broker: what a common host is asked in the clear is held to
// the same judge as what it is asked by TLS. What could be opened by a policy is a
// credential or a write, and neither travels for everybody to read.
func (b *Broker) Clear(n address.Name) func(serviceapi.Request) string {
	_, served := b.owned[n]
	_, shut := b.shut[n]
	if served || shut || !b.commons.Has(n) {
		return nil
	}
	return func(r serviceapi.Request) string {
		d, raw := b.judge.Judge(string(n), r)
		switch {
		case raw:
			return "what the policy opens of this host goes by https alone"
		case !d.Allow:
			return d.Reason
		}
		return ""
	}
}

// Judge is what judges requests to common hosts.
func (b *Broker) Judge() *serviceapi.Common { return b.judge }

// Closed implements gate.Broker.
func (b *Broker) Closed(n address.Name) string { return b.shut[n] }

// Serve implements gate.Broker.
func (b *Broker) Serve(c net.Conn, host address.Name) { b.secure.hand(c) }

// Local implements gate.Broker.
func (b *Broker) Local(c net.Conn) { b.plain.hand(c) }

// local finds the site of a request to the endpoint. The Host must be the endpoint's
// own: a page in a browser inside that was led here by a name of its own is refused.
func (b *Broker) local(w http.ResponseWriter, r *http.Request) {
	if !slices.Contains(localHosts, r.Host) || r.URL.IsAbs() {
		refuse(w, http.StatusMisdirectedRequest, "this is the broker of the sandbox: it answers at "+Endpoint)
		return
	}
	for _, s := range b.sites {
		if s.Stray != nil && s.Stray(r) {
			s.Handler.ServeHTTP(w, r)
			return
		}
	}
	for _, s := range b.sites {
		if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), s.Prefix); ok && s.Prefix != "" && (rest == "" || rest[0] == '/') {
			if s.Whole {
				s.Handler.ServeHTTP(w, r)
				return
			}
			serveAt(s.Handler, w, r, s.Prefix)
			return
		}
	}
	refuse(w, http.StatusNotFound, "the broker of this session has nothing here")
}

var localHosts = []string{
	fmt.Sprintf("127.0.0.1:%d", netns.Broker), fmt.Sprintf("localhost:%d", netns.Broker), fmt.Sprintf("[::1]:%d", netns.Broker),
}

// serveAt hands a request on without its prefix.
func serveAt(h http.Handler, w http.ResponseWriter, r *http.Request, prefix string) {
	path, raw := strings.TrimPrefix(r.URL.Path, prefix), strings.TrimPrefix(r.URL.RawPath, prefix)
	if path == "" {
		path = "/"
	}
	q := r.WithContext(r.Context())
	u := *r.URL
	u.Path, u.RawPath = path, raw
	q.URL = &u
	h.ServeHTTP(w, q)
}

// remote finds the site of a request to an owned host. Its Host must be the one for
// which TLS was begun.
func (b *Broker) remote(w http.ResponseWriter, r *http.Request) {
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	n, err := address.ParseName(host)
	if err != nil || r.TLS == nil || string(n) != strings.ToLower(r.TLS.ServerName) || r.URL.IsAbs() {
		refuse(w, http.StatusMisdirectedRequest, "the request is for another host than the connection")
		return
	}
	h, own := b.owned[n]
	if takes := b.takes[n]; b.commons.Has(n) && (!own || takes != nil && !takes(r)) {
		h = b.common
	}
	if h == nil {
		refuse(w, http.StatusForbidden, "ringfence keeps the credential of this host, and this session has no use of it")
		return
	}
	h.ServeHTTP(w, r)
}

// refuse is the answer where no site has words of its own.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Ringfence", "denied")
	w.WriteHeader(status)
	fmt.Fprintln(w, "ringfence: "+why)
}

// Close ends every connection.
func (b *Broker) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.plain.Close()
	b.secure.Close()
	for _, s := range b.servers {
		s.Close()
	}
	return nil
}

// Recorder writes down what is done. What cannot be recorded is not done.
type Recorder func(journal.Record) error

// Recorded lets a request on that could be written down. It is for handlers that record
// what came of it, too late to refuse it for that.
func Recorded(record Recorder, r journal.Record, next http.Handler) http.Handler {
	r.Kind, r.Event, r.Verdict, r.Reason = journal.Broker, journal.Use, journal.Wait, "a request to be judged"
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r := r
		r.Method = q.Method
		if err := record(r); err != nil {
			refuse(w, http.StatusServiceUnavailable, errUnrecorded.Error())
			return
		}
		next.ServeHTTP(w, q)
	})
}

// Reach connects to a host under the session's rules.
type Reach func(ctx context.Context, t address.Target) (net.Conn, error)
