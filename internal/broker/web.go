package broker

import (
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"ringfence.dev/ringfence/internal/journal"
)

// Web is the host of a forge as browsers see it. What speaks git is judged as git, the
// API as the API. Everything else can be read and not written, without a credential:
// releases, archives, pages. A token of the agent's own gets nobody anywhere.
type Web struct {
	Upstream  *url.URL
	Name      string       // of the secret, for the journal
	Git       http.Handler // decides by itself what is git
	API       http.Handler // nil: it has a host of its own, or is not known
	Transport http.RoundTripper
	Record    Recorder
}

// Handler serves the host.
func (s Web) Handler() http.Handler {
	site := &webSite{Web: s}
	site.relay = relay(s.Upstream, bare{s.Transport}, func(w http.ResponseWriter, r *http.Request, err error) {
		status, why := unreachable(err)
		refuse(w, status, why)
	})
	return site
}

type webSite struct {
	Web
	relay *httputil.ReverseProxy
}

func (s *webSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch path := r.URL.EscapedPath(); {
	case isGit(path):
		s.Git.ServeHTTP(w, r)
	case s.API != nil && (strings.HasPrefix(path, "/api/") || path == "/api"):
		s.API.ServeHTTP(w, r)
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		s.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Name: s.Upstream.Hostname(), Method: r.Method, Secret: s.Name,
			Verdict: journal.Deny, Reason: "only git and the API of this host are written to"})
		refuse(w, http.StatusForbidden, "this host is brokered: git and its API are judged, everything else is for reading")
	default:
		r.Header = only(r.Header, func(name string) bool { return passes(name) && !carries(name) })
		s.relay.ServeHTTP(w, r)
	}
}

// isGit holds for the paths of git's protocol, in whatever spelling: the handler of git
// is the stricter one.
func isGit(path string) bool {
	p := strings.ToLower(path)
	if u, err := url.PathUnescape(p); err == nil {
		p = u
	}
	return strings.HasSuffix(p, "/info/refs") || strings.HasSuffix(p, "/git-upload-pack") || strings.HasSuffix(p, "/git-receive-pack") || strings.Contains(p, "/info/lfs/")
}

// carries holds for fields that speak for somebody.
func carries(name string) bool {
	switch name {
	case "Authorization", "Proxy-Authorization", "Cookie", "Private-Token", "Job-Token", "Deploy-Token", "X-Api-Key", "X-Auth-Token":
		return true
	}
	return false
}

// bare sends requests without a credential. Their answers are not searched: there is
// nothing of ours in them. Cookies do not enter.
type bare struct{ next http.RoundTripper }

func (b bare) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err != nil {
		return nil, plainError(err)
	}
	for name := range dropped {
		resp.Header.Del(name)
	}
	return resp, nil
}

// errNoWord is a token that no header can carry.
var errNoWord = errors.New("the credential is not one word")

// Carry puts the credential of a source on requests, as git does: with a user and a
// password. Where the host has none they go without, for what is public; what then
// wants one is told what the host lacks.
func Carry(next http.RoundTripper, source Source, user string) http.RoundTripper {
	with := &carrier{next: next, source: source, put: func(r *http.Request, c Credential) error {
		if strings.ContainsAny(c.Value, "\r\n\x00") {
			return errNoWord
		}
		r.Header.Set("Authorization", basic(user, c.Value))
		return nil
	}}
	return either{with, bare{next}}
}

// either tries with a credential, or without where there is none.
type either struct{ with, without http.RoundTripper }

func (e either) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.with.RoundTrip(r)
	var missing *Missing
	if !errors.As(err, &missing) {
		return resp, err
	}
	resp, err = e.without.RoundTrip(r)
	if err != nil || resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusNotFound {
		return resp, err
	}
	resp.Body.Close()
	text := "ringfence: " + missing.Reason + "\n"
	resp.StatusCode, resp.Status = http.StatusForbidden, "403 Forbidden"
	resp.Header = http.Header{"Content-Type": {"text/plain; charset=utf-8"}}
	resp.Body, resp.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return resp, nil
}
