package broker

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"ringfence.dev/ringfence/internal/credentials/serviceapi"
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
func (s Web) Handler() (http.Handler, error) {
	places, err := serviceapi.New(serviceapi.Config{Kind: serviceapi.Bearer, Host: s.Upstream.Host})
	if err != nil {
		return nil, err
	}
	site := &webSite{Web: s, places: places}
	site.relay = relay(s.Upstream, bare{s.Transport}, func(w http.ResponseWriter, r *http.Request, err error) {
		status, why := unreachable(err)
		refuse(w, status, why)
	})
	return site, nil
}

type webSite struct {
	Web
	places *serviceapi.Service // knows where a credential may be
	relay  *httputil.ReverseProxy
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
		if err := s.anonymous(r); err != nil {
			refuse(w, http.StatusForbidden, err.Error())
			return
		}
		s.relay.ServeHTTP(w, r)
	}
}

// anonymous leaves of a request what reading needs: no credential, in whatever place,
// no body, no other protocol.
func (s *webSite) anonymous(r *http.Request) error {
	value, _, err := s.places.Presented(r)
	if err == nil && value != "" {
		err = errForeign
	}
	if err != nil {
		s.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Name: s.Upstream.Hostname(), Method: r.Method, Secret: s.Name,
			Verdict: journal.Deny, Reason: err.Error()})
		return err
	}
	if err := s.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Name: s.Upstream.Hostname(), Method: r.Method, Verdict: journal.Allow, Reason: "read without a credential"}); err != nil {
		return err
	}
	r.Header = only(r.Header, func(name string) bool { return reading[name] })
	r.Body, r.ContentLength, r.TransferEncoding = http.NoBody, 0, nil
	return nil
}

// reading are the fields that go on with a request that only reads.
var reading = map[string]bool{"Accept": true, "Accept-Language": true, "User-Agent": true, "Range": true, "If-Range": true,
	"If-None-Match": true, "If-Modified-Since": true, "Cache-Control": true}

// isGit holds for the paths of git's protocol, in whatever spelling: the handler of git
// is the stricter one.
func isGit(path string) bool {
	p := strings.ToLower(path)
	if u, err := url.PathUnescape(p); err == nil {
		p = u
	}
	return strings.HasSuffix(p, "/info/refs") || strings.HasSuffix(p, "/git-upload-pack") || strings.HasSuffix(p, "/git-receive-pack") || strings.Contains(p, "/info/lfs/")
}

// bare sends requests without a credential. Their answers are not searched: there is
// nothing of ours in them. Cookies do not enter.
type bare struct{ next http.RoundTripper }

func (b bare) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if q, ok := rewound(r); err != nil && ok && mayResend(r, err) {
		resp, err = b.next.RoundTrip(q.WithContext(context.WithValue(q.Context(), fresh{}, true)))
	}
	if err != nil {
		return nil, plainError(err)
	}
	for name := range dropped {
		resp.Header.Del(name)
	}
	return resp, nil
}

// Bare sends requests without a credential.
func Bare(next http.RoundTripper) http.RoundTripper { return bare{next} }

// Noted sends requests that carry a credential already: each is written down before it
// leaves.
func Noted(next http.RoundTripper, note func(r *http.Request, why string) error) http.RoundTripper {
	return noted{next, note}
}

type noted struct {
	next http.RoundTripper
	note func(*http.Request, string) error
}

func (n noted) RoundTrip(r *http.Request) (*http.Response, error) {
	if n.note(r, "") != nil {
		closeBody(r)
		return nil, errUnrecorded
	}
	return n.next.RoundTrip(r)
}

// errNoWord is a token that no header can carry.
var errNoWord = errors.New("the credential is not one word")

// Carry puts the credential of a source on requests, as git does: with a user and a
// password, and has each of them written down by note before it leaves. Where the host
// has none they go without, for what is public; what then wants one is told what the
// host lacks.
func Carry(next http.RoundTripper, source Source, user string, note func(r *http.Request, why string) error) http.RoundTripper {
	with := &carrier{next: next, source: source, note: note, put: func(r *http.Request, c Credential) error {
		if strings.ContainsAny(c.Value, "\r\n\x00") {
			return errNoWord
		}
		r.Header.Set("Authorization", basic(user, c.Value))
		return nil
	}}
	return either{with, bare{next}}
}

// Passed passes everything on to a host as it came, for modes in which nothing about a
// host is judged.
func Passed(to *url.URL, next http.RoundTripper) http.Handler {
	return relay(to, bare{next}, func(w http.ResponseWriter, r *http.Request, err error) {
		status, why := unreachable(err)
		refuse(w, status, why)
	})
}

// Reading passes on what is read of a host, with the fields that reading needs and no other:
// a credential of the client's stays behind. Parts of a file are not asked for, since they
// cannot be searched for a credential.
func Reading(to *url.URL, next http.RoundTripper) http.Handler {
	pass := relay(to, next, func(w http.ResponseWriter, r *http.Request, err error) {
		status, why := unreachable(err)
		refuse(w, status, why)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header = only(r.Header, func(name string) bool { return reading[name] && name != "Range" && name != "If-Range" })
		r.Body, r.ContentLength, r.TransferEncoding = http.NoBody, 0, nil
		pass.ServeHTTP(w, r)
	})
}

// How CarryAs sends a credential: the Kind of what its source gives.
const (
	AsBasic  = "basic" // USER:PASSWORD
	AsBearer = "bearer"
	AsWord   = "word" // as it is
)

// CarryAs puts the credential of a source on requests, in the way that its Kind says, and
// has each of them written down by note before it leaves. Where the host has none, they
// go without.
func CarryAs(next http.RoundTripper, source Source, note func(r *http.Request, why string) error) http.RoundTripper {
	with := &carrier{next: next, source: source, note: note, put: func(r *http.Request, c Credential) error {
		if strings.ContainsAny(c.Value, "\r\n\x00") {
			return errNoWord
		}
		field := c.Value
		switch c.Kind {
		case AsBasic:
			user, word, _ := strings.Cut(c.Value, ":")
			field = basic(user, word)
		case AsBearer:
			field = "Bearer " + c.Value
		}
		r.Header.Set("Authorization", field)
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
