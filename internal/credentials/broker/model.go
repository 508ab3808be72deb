package broker

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"ringfence.dev/ringfence/internal/credentials/modelapi"
	"ringfence.dev/ringfence/internal/injection"
	"ringfence.dev/ringfence/internal/journal"
)

// Model is a model's API: what the agent itself lives on.
type Model struct {
	API       modelapi.API
	Name      string      // of the secret, for the journal
	Upstream  *url.URL    // the vendor's, or what the user named
	Trim      string      // is taken off the beginning of paths
	Extra     http.Header // fields that the user's upstream wants, on the host's leg alone
	Phantom   Phantom
	Source    Source
	Allow     func() modelapi.Allow // as it is at each request
	Transport http.RoundTripper
	Record    Recorder
	// Suspect hears of what tools returned that tries to give the model orders. It is
	// told before the request goes on, and stops nothing. nil: nobody looks.
	Suspect func(injection.Report)
}

// Handler serves the API.
func (m Model) Handler() http.Handler {
	carry := &carrier{next: m.Transport, source: m.Source, put: m.put, note: m.left}
	for _, values := range m.Extra {
		carry.more = append(carry.more, values...)
	}
	return &modelSite{Model: m,
		relay: relay(m.Upstream, carry, func(w http.ResponseWriter, r *http.Request, err error) { m.fail(w, r, err) })}
}

type modelSite struct {
	Model
	relay  http.Handler
	judged judged
}

// ServeHTTP judges a request in the order in which it gets expensive, writes the
// verdict down, and passes on what is left of it: the fields that the API knows, and
// no credential but the real one.
func (s *modelSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodHead && r.URL.Path == "/" {
		return // it only asks whether somebody is there
	}
	if err := s.presented(r); err != nil {
		s.deny(w, r, http.StatusUnauthorized, err)
		return
	}
	rule, err := s.API.Judge(r.Method, r.URL.EscapedPath(), r.URL.RawQuery)
	if err != nil {
		s.deny(w, r, http.StatusForbidden, err)
		return
	}
	head, err := s.API.Forward(r.Header, s.Allow())
	if err != nil {
		s.deny(w, r, http.StatusForbidden, err)
		return
	}
	room, ok := roomFor(r, modelapi.MaxBody)
	if !ok {
		s.deny(w, r, http.StatusTooManyRequests, errors.New("too many long requests at once"))
		return
	}
	defer memory.give(room)
	http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTime))
	body, err := whole(r, modelapi.MaxBody)
	if err == nil {
		err = s.API.JudgeBody(rule, body, s.Allow())
	}
	if err != nil {
		s.deny(w, r, http.StatusForbidden, err)
		return
	}
	http.NewResponseController(w).SetReadDeadline(time.Time{})
	if s.Suspect != nil {
		if err := s.judged.look(r.Context(), s.API, body, s.Suspect); err != nil {
			s.deny(w, r, http.StatusServiceUnavailable, err)
			return
		}
	}
	r.Header = head
	r.URL.Path, r.URL.RawPath = strings.TrimPrefix(r.URL.Path, s.Trim), ""
	s.relay.ServeHTTP(w, r)
}

var errForeign = errors.New("the credential of this request is not the one of this session: ringfence keeps the real one and sends no other")

// presented holds a request to the phantom, and takes it off. A key of the agent's own,
// smuggled in to reach somebody else's account, ends here.
func (m Model) presented(r *http.Request) error {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return errors.New("the query cannot be read in one way only")
	}
	value, _, many := m.API.Credential(r.Header, q)
	if many || !m.Phantom.is(value) {
		return errForeign
	}
	m.API.Strip(r.Header, q)
	u := *r.URL
	u.RawQuery = q.Encode() // what is judged is what is sent
	r.URL = &u
	return nil
}

// put puts the real credential on a request that carries none.
func (m Model) put(r *http.Request, c Credential) error {
	for name, values := range m.Extra {
		r.Header[name] = values
	}
	return m.API.Put(r.Header, modelapi.Kind(c.Kind), c.Value, c.Account)
}

func (m Model) note(r *http.Request, verdict, reason string) error {
	return m.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Name: m.Upstream.Hostname(), Method: r.Method,
		Secret: m.Name, Verdict: verdict, Reason: reason})
}

// left writes down a request that leaves with the credential.
func (m Model) left(r *http.Request, why string) error { return m.note(r, journal.Allow, why) }

// deny answers in the vendor's own form, so that the agent shows it.
func (m Model) deny(w http.ResponseWriter, r *http.Request, status int, err error) {
	m.note(r, journal.Deny, err.Error())
	d := &modelapi.Denied{}
	if !errors.As(err, &d) {
		d = &modelapi.Denied{Reason: err.Error(), Status: status}
	}
	m.say(w, d.Status, *d)
}

func (m Model) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, why := unreachable(err)
	m.note(r, journal.Deny, why)
	m.say(w, status, modelapi.Denied{Reason: why})
}

func (m Model) say(w http.ResponseWriter, status int, d modelapi.Denied) {
	kind, body := m.API.Refusal(status, d)
	w.Header().Set("Content-Type", kind)
	w.Header().Set("X-Ringfence", "denied")
	w.Header().Set("X-Should-Retry", "false") // it will be the same the next time
	w.WriteHeader(status)
	w.Write(body)
}
