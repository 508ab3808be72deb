// Package upstream asks the registries that the host uses, from the supervisor. The
// host's login goes to the registry that it is for and nowhere else: where an answer
// leads elsewhere, it is followed without, and only to where the rules allow.
//
// Everything that comes back is hostile: it is read by the caller, within bounds.
package upstream

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Site is one registry.
type Site struct {
	Base  *url.URL          // without a user, a query or a slash at its end
	Trip  http.RoundTripper // to its host, with the host's login; nil: there is no network
	Other http.RoundTripper // to where it leads, without; nil: nowhere
	Login bool              // it is asked with a login
}

// Name is under what its answers are noted: what a login shows is nobody's who has none.
func (s *Site) Name() string {
	if s.Login {
		return "login " + s.Base.String()
	}
	return s.Base.String()
}

// who answers, for people: a host, or a directory of this one.
func (s *Site) who() string {
	if s.Base.Scheme == "file" {
		return s.Base.Path
	}
	return s.Base.Host
}

// Failure is an answer that is none, in words for who runs the package manager.
type Failure struct {
	Status int // 0: there was no answer
	Why    string
}

func (f *Failure) Error() string { return f.Why }

// Missing holds for what the registry does not have.
func (f *Failure) Missing() bool {
	return f.Status == http.StatusNotFound || f.Status == http.StatusGone
}

// ErrOffline is what every question ends with where there is no network.
var ErrOffline = &Failure{Why: "there is no network, and this was not fetched before"}

// IsMissing holds for an error that says that the registry does not have it.
func IsMissing(err error) bool {
	f := (*Failure)(nil)
	return errors.As(err, &f) && f.Missing()
}

// Question is what a registry is asked.
type Question struct {
	Path   string // below the base, escaped, with its slash
	At     string // the whole URL, where an index gave one; Path does not count then
	Accept string
	Tag    string // the ETag of what is had already
	Packed bool   // the answer may come compressed
}

// Answer is what it said: 200, or 304 with no body.
type Answer struct {
	Status int
	Tag    string
	Kind   string
	Body   io.ReadCloser
}

const maxLeads = 5

// Get asks.
func (s *Site) Get(ctx context.Context, q Question) (*Answer, error) {
	if s.Trip == nil {
		return nil, ErrOffline
	}
	at := q.At
	if at == "" {
		at = s.Base.String() + q.Path
	}
	u, err := s.parse(at)
	if err != nil {
		return nil, err
	}
	for range maxLeads {
		resp, err := s.ask(ctx, u, q)
		if err != nil {
			return nil, err
		}
		switch {
		case resp.StatusCode == http.StatusOK, resp.StatusCode == http.StatusNotModified && q.Tag != "":
			return answer(resp)
		case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != "":
			resp.Body.Close()
			if u, err = s.lead(u, resp.Header.Get("Location")); err != nil {
				return nil, err
			}
		default:
			resp.Body.Close()
			return nil, &Failure{resp.StatusCode, fmt.Sprintf("%s answered %d", s.who(), resp.StatusCode)}
		}
	}
	return nil, &Failure{Why: s.Base.Host + " led from one place to the next"}
}

// own holds for what is the registry's: the same host, by the same way.
func (s *Site) own(u *url.URL) bool { return u.Scheme == s.Base.Scheme && u.Host == s.Base.Host }

func (s *Site) parse(at string) (*url.URL, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" && !s.own(u) || u.User != nil || u.Scheme != "https" && !s.own(u) {
		return nil, &Failure{Why: s.Base.Host + " names an address that is not asked"}
	}
	u.Fragment = ""
	return u, nil
}

// lead is where an answer leads. What came by TLS does not go on without.
func (s *Site) lead(from *url.URL, to string) (*url.URL, error) {
	u, err := from.Parse(to)
	if err != nil {
		return nil, &Failure{Why: s.Base.Host + " leads nowhere"}
	}
	return s.parse(u.String())
}

func (s *Site) ask(ctx context.Context, u *url.URL, q Question) (*http.Response, error) {
	r := (&http.Request{Method: http.MethodGet, URL: u, Host: u.Host, Header: http.Header{"User-Agent": {"ringfence"}}}).WithContext(ctx)
	if q.Accept != "" {
		r.Header.Set("Accept", q.Accept)
	}
	if q.Tag != "" {
		r.Header.Set("If-None-Match", q.Tag)
	}
	if q.Packed {
		r.Header.Set("Accept-Encoding", "gzip")
	}
	trip := s.Trip
	if !s.own(u) {
		trip = s.Other
	}
	if trip == nil {
		return nil, &Failure{Why: s.Base.Host + " leads to " + u.Host + ", which is not asked"}
	}
	resp, err := trip.RoundTrip(r)
	if err != nil {
		return nil, &Failure{Why: u.Host + " was not reached: " + err.Error()}
	}
	return resp, nil
}

func answer(resp *http.Response) (*Answer, error) {
	a := &Answer{Status: resp.StatusCode, Tag: resp.Header.Get("ETag"), Kind: resp.Header.Get("Content-Type"), Body: resp.Body}
	if len(a.Tag) > 256 || strings.ContainsAny(a.Tag, "\r\n") {
		a.Tag = ""
	}
	switch resp.Header.Get("Content-Encoding") {
	case "", "identity":
		return a, nil
	case "gzip":
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			resp.Body.Close()
			return nil, &Failure{Why: "the answer cannot be unpacked"}
		}
		a.Body = &unpacked{z, resp.Body}
		return a, nil
	}
	resp.Body.Close()
	return nil, &Failure{Why: "the answer is compressed in a way that was not asked for"}
}

type unpacked struct {
	io.Reader
	under io.Closer
}

func (u *unpacked) Close() error { return u.under.Close() }

// All reads a whole answer of at most so many bytes.
func (a *Answer) All(most int64) ([]byte, error) {
	defer a.Body.Close()
	b, err := io.ReadAll(io.LimitReader(a.Body, most+1))
	if err != nil {
		return nil, &Failure{Why: "the answer broke off"}
	}
	if int64(len(b)) > most {
		return nil, &Failure{Why: "the answer is longer than it can be"}
	}
	return b, nil
}
