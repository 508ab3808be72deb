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
	"time"

	"ringfence.dev/ringfence/internal/credentials/serviceapi"
	"ringfence.dev/ringfence/internal/journal"
)

// Service is a host other than a model's that takes a credential: a registry, the API
// of a forge, whatever the user names.
type Service struct {
	Service   *serviceapi.Service
	Kind      serviceapi.Kind
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
	}, note: func(r *http.Request, why string) error {
		d, _ := r.Context().Value(verdict{}).(serviceapi.Decision)
		if d.Reason == "" || why != "" {
			d.Reason = why
		}
		return s.note(r, journal.Allow, d)
	}}
	site := &serviceSite{Service: s}
	site.relay = relay(s.Upstream, carry, s.fail)
	site.relay.ModifyResponse = func(resp *http.Response) error {
		if s.Kind.Forge() {
			if err := blot(resp); err != nil {
				return err
			}
		}
		return learn(resp)
	}
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
		s.deny(w, r, http.StatusForbidden, serviceapi.Decision{Rule: "one credential", Reason: err.Error()})
		return
	}
	if len(r.Header.Values("Content-Encoding")) > 0 {
		s.deny(w, r, http.StatusUnsupportedMediaType, serviceapi.Decision{Rule: "readable", Reason: "the request is compressed: it must be readable to be judged"})
		return
	}
	var body []byte
	if s.Service.Service.NeedsBody(serviceapi.From(r, nil)) {
		room, ok := roomFor(r, serviceapi.MaxBody)
		if !ok {
			s.deny(w, r, http.StatusTooManyRequests, serviceapi.Decision{Rule: "bounds", Reason: "too many long requests at once"})
			return
		}
		defer memory.give(room)
		http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
		if body, err = whole(r, serviceapi.MaxBody); err != nil {
			s.deny(w, r, http.StatusRequestEntityTooLarge, serviceapi.Decision{Rule: "readable", Reason: err.Error()})
			return
		}
	}
	d := s.Service.Service.Judge(serviceapi.From(r, body))
	if !d.Allow {
		s.deny(w, r, http.StatusForbidden, d)
		return
	}
	if d.Body != nil {
		putBack(r, d.Body) // what was judged is what is sent
	}
	r = r.WithContext(context.WithValue(r.Context(), verdict{}, d)) // written down as it leaves, and its answer shown to who wants to see it
	s.Service.Service.Strip(r)
	r.Header = only(r.Header, passes)
	s.relay.ServeHTTP(w, r)
}

// passes holds for the fields of a request that go on. What would have the answer
// compressed does not, nor what speaks of the way that a request came, or of a user whom
// somebody on that way has seen.
func passes(name string) bool {
	name = http.CanonicalHeaderKey(strings.ReplaceAll(name, "_", "-")) // servers may read it so
	switch name {
	case "Range", "If-Range": // half a credential would not be found
		return false
	case "Sec-Websocket-Extensions": // nor one that is compressed
		return false
	case "Accept-Charset", "A-Im": // nor one in other letters, or in a difference
		return false
	case "Accept-Encoding", "Forwarded", "Via", "X-Real-Ip", "Remote-User", "X-Remote-User", "X-Authenticated-User":
		return false
	}
	return !strings.HasPrefix(name, "X-Forwarded-") && !strings.HasPrefix(name, "X-Webauth-")
}

// verdict is under what a request carries how it was judged.
type verdict struct{}

// learn shows an answer to who wants to see it.
func learn(resp *http.Response) error {
	d, _ := resp.Request.Context().Value(verdict{}).(serviceapi.Decision)
	if d.Learn == nil || resp.StatusCode != http.StatusOK {
		return nil
	}
	const most = 4 << 20
	if !memory.take(most) {
		return nil // what it would have told is not known then
	}
	defer memory.give(most)
	b, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return err
	}
	if len(b) < most {
		d.Learn(b)
	}
	resp.Body = &body{io.MultiReader(bytes.NewReader(b), resp.Body), resp.Body}
	return nil
}

func (s Service) note(r *http.Request, verdict string, d serviceapi.Decision) error {
	return s.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Name: s.Upstream.Hostname(), Method: r.Method,
		Secret: s.Name, Verdict: verdict, Rule: d.Rule, Reason: d.Reason})
}

func (s Service) deny(w http.ResponseWriter, r *http.Request, status int, d serviceapi.Decision) {
	s.note(r, journal.Deny, d)
	s.say(w, status, d)
}

func (s Service) fail(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(err, errDecoy) {
		err = errDecoy
	}
	status, why := unreachable(err)
	s.deny(w, r, status, serviceapi.Decision{Reason: why})
}

func (s Service) say(w http.ResponseWriter, status int, d serviceapi.Decision) {
	kind, text := serviceapi.Refusal(s.Kind, status, d)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Ringfence", "denied")
	w.WriteHeader(status)
	w.Write(text)
}
