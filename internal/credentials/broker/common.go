package broker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/journal"
)

// Common serves the hosts on which anybody can write with a credential of his own, all
// of them: what is judged is read there without a credential. git reads through its
// own handler, which knows a fetch from a push. Nothing of ours is sent, so answers
// stream through unsearched.
type Common struct {
	Judge     *serviceapi.Common
	Git       func(host address.Name) (http.Handler, error)
	Transport http.RoundTripper
	Record    Recorder
}

// Handler serves the hosts.
func (s Common) Handler() http.Handler {
	return &commonSite{Common: s, hosts: map[address.Name]*commonHost{}}
}

type commonSite struct {
	Common
	mu    sync.Mutex
	hosts map[address.Name]*commonHost
}

// commonHost is one of them, from the first request on.
type commonHost struct {
	relay *httputil.ReverseProxy
	git   http.Handler
}

var errManyHosts = errors.New("too many hosts are being asked")

func (s *commonSite) host(n address.Name) (*commonHost, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.hosts[n]; h != nil {
		return h, nil
	}
	if len(s.hosts) >= maxHosts {
		return nil, errManyHosts
	}
	git, err := s.Git(n)
	if err != nil {
		return nil, err
	}
	h := &commonHost{git: git}
	h.relay = relay(&url.URL{Scheme: "https", Host: string(n)}, bare{s.Transport}, func(w http.ResponseWriter, r *http.Request, err error) {
		status, why := unreachable(err)
		refuse(w, status, why)
	})
	h.relay.ModifyResponse = func(resp *http.Response) error { return s.issued(n, resp) }
	s.hosts[n] = h
	return h, nil
}

// ServeHTTP implements http.Handler. The name of the host is the one that TLS was
// begun for.
func (s *commonSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := address.ParseName(r.TLS.ServerName)
	var h *commonHost
	if err == nil {
		h, err = s.host(n)
	}
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err.Error())
		return
	}
	if r.ContentLength < 0 && reads(r.Method) {
		r.ContentLength = atLeast(r.Body) // some clients end a request without a body in two steps
	}
	d, raw := s.Judge.Judge(string(n), serviceapi.From(r, nil))
	switch {
	case !raw && d.Rule != "form" && isGit(r.URL.EscapedPath()):
		h.git.ServeHTTP(w, r)
		return
	case !d.Allow:
		s.note(n, r, journal.Deny, d)
		refuse(w, http.StatusForbidden, said(d))
		return
	case s.note(n, r, journal.Allow, d) != nil:
		refuse(w, http.StatusServiceUnavailable, errUnrecorded.Error())
		return
	}
	if !raw {
		r = s.plain(n, r)
	}
	r.Trailer = nil // what comes after the verdict is not sent
	h.relay.ServeHTTP(w, r)
}

func reads(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// atLeast is 0 for a body that is empty and 1 for one that is not.
func atLeast(r io.Reader) int64 {
	n, _ := io.ReadFull(r, make([]byte, 1))
	return int64(n)
}

func said(d serviceapi.Decision) string {
	if d.Hint == "" {
		return d.Reason
	}
	return d.Reason + " (" + d.Hint + ")"
}

// plain leaves of a request what reading needs.
func (s *commonSite) plain(n address.Name, r *http.Request) *http.Request {
	given := r.Header.Values("Authorization") // judged to be nobody's
	r.Header = only(r.Header, func(name string) bool {
		return reading[name] || name == "Accept-Encoding" || strings.HasPrefix(name, "X-Hg") || !reads(r.Method) && (name == "Content-Type" || name == "Content-Encoding")
	})
	if len(given) == 1 && given[0] != "" {
		r.Header["Authorization"] = given
	}
	if !reads(r.Method) {
		return r
	}
	r.Body, r.ContentLength, r.TransferEncoding = http.NoBody, 0, nil
	if len(given) == 0 && s.Judge.Issues(string(n), r.URL.EscapedPath()) {
		r.Header.Del("Accept-Encoding")
		r = r.WithContext(context.WithValue(r.Context(), issuing{}, true))
	}
	return r
}

// issuing marks a request whose answer is a token for nobody.
type issuing struct{}

// issued shows such an answer to the judge. One that is too long is no token.
func (s *commonSite) issued(n address.Name, resp *http.Response) error {
	if resp.Request.Context().Value(issuing{}) == nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	const most = 64 << 10
	b, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return err
	}
	s.Judge.Given(string(n), b)
	resp.Body = &body{io.MultiReader(bytes.NewReader(b), resp.Body), resp.Body}
	return nil
}

func (s *commonSite) note(n address.Name, r *http.Request, verdict string, d serviceapi.Decision) error {
	return s.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Name: string(n), Method: r.Method, Verdict: verdict, Rule: d.Rule, Reason: d.Reason})
}
