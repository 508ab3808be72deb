package broker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/service"
)

// Service is a host other than a model's that takes a credential: a registry, the API
// of a forge, whatever the user names.
type Service struct {
	Service   *service.Service
	Kind      service.Kind
	Name      string // of the secret, for the journal
	User      string
	Upstream  *url.URL
	Phantom   Phantom
	Source    Source
	Transport http.RoundTripper
	Record    Recorder
}

// Handler serves the host.
func (s Service) Handler() http.Handler {
	carry := &carrier{next: s.Transport, source: s.Source, put: func(r *http.Request, c Credential) error {
		s.Service.Put(r, s.User, c.Value)
		return nil
	}}
	site := &serviceSite{Service: s}
	site.relay = relay(s.Upstream, carry, s.fail)
	site.relay.ModifyResponse = learn
	return site
}

type serviceSite struct {
	Service
	relay *httputil.ReverseProxy
}

// ServeHTTP judges a request by its credential, then by its method and path and where
// it has to by its body, and passes it on with the real credential alone.
func (s *serviceSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	value, _, err := s.Service.Service.Presented(r)
	if err == nil && value != "" && !s.Phantom.is(value) {
		err = errForeign
	}
	if err != nil {
		s.deny(w, r, http.StatusForbidden, service.Decision{Rule: "one credential", Reason: err.Error()})
		return
	}
	var body []byte
	if s.Service.Service.NeedsBody(service.From(r, nil)) {
		if body, err = whole(r, service.MaxBody); err != nil {
			s.deny(w, r, http.StatusRequestEntityTooLarge, service.Decision{Rule: "readable", Reason: err.Error()})
			return
		}
	}
	d := s.Service.Service.Judge(service.From(r, body))
	if !d.Allow {
		s.deny(w, r, http.StatusForbidden, d)
		return
	}
	if err := s.note(r, journal.Allow, d); err != nil {
		s.say(w, http.StatusServiceUnavailable, service.Decision{Rule: "everything is recorded", Reason: "the journal cannot be written"})
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), learner{}, d.Learn))
	s.Service.Service.Strip(r)
	r.Header = only(r.Header, passes)
	s.relay.ServeHTTP(w, r)
}

// passes holds for the fields of a request that go on. What would have the answer
// compressed does not, nor what speaks of the way that a request came.
func passes(name string) bool {
	switch name {
	case "Accept-Encoding", "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Real-Ip":
		return false
	}
	return true
}

// learner is under what a request carries who wants to see its answer.
type learner struct{}

// learn shows an answer to who wants to see it.
func learn(resp *http.Response) error {
	see, _ := resp.Request.Context().Value(learner{}).(func([]byte))
	if see == nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	const most = 4 << 20
	b, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return err
	}
	if len(b) < most {
		see(b)
	}
	resp.Body = &body{io.MultiReader(bytes.NewReader(b), resp.Body), resp.Body}
	return nil
}

func (s Service) note(r *http.Request, verdict string, d service.Decision) error {
	return s.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Name: s.Upstream.Hostname(), Method: r.Method,
		Secret: s.Name, Verdict: verdict, Rule: d.Rule, Reason: d.Reason})
}

func (s Service) deny(w http.ResponseWriter, r *http.Request, status int, d service.Decision) {
	s.note(r, journal.Deny, d)
	s.say(w, status, d)
}

func (s Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errDecoy) {
		err = errDecoy
	}
	status, why := unreachable(err)
	s.deny(w, r, status, service.Decision{Reason: why})
}

func (s Service) say(w http.ResponseWriter, status int, d service.Decision) {
	kind, text := service.Refusal(s.Kind, status, d)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Ringfence", "denied")
	w.WriteHeader(status)
	w.Write(text)
}
