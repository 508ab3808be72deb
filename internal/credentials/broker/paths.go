package broker

import (
	"fmt"
	"net/http"
	"strings"

	"ringfence.dev/ringfence/internal/journal"
)

// Paths is a host on which credentials are for what lies below paths. Which of them a
// request is for is a first look: the service that gets it judges its path again, in the
// one spelling that it takes.
type Paths struct {
	Host   string
	Record Recorder
	Rest   http.Handler // gets what is below none of them; nil: it is refused

	bases    []string
	handlers []http.Handler
}

// Add lets h serve what lies below base; "" is the whole host.
func (p *Paths) Add(base string, h http.Handler) {
	p.bases, p.handlers = append(p.bases, base), append(p.handlers, h)
}

func (p *Paths) find(r *http.Request) http.Handler {
	for i, base := range p.bases {
		if strings.HasPrefix(r.URL.EscapedPath()+"/", base+"/") {
			return p.handlers[i]
		}
	}
	return nil
}

// Takes holds for a request below one of the paths.
func (p *Paths) Takes(r *http.Request) bool { return p.find(r) != nil }

// ServeHTTP implements http.Handler.
func (p *Paths) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := p.find(r)
	if h == nil {
		h = p.Rest
	}
	if h == nil {
		p.deny(w, r, fmt.Sprintf("the credentials of this host are for what lies below %s/ alone", strings.Join(p.bases, "/ and ")))
		return
	}
	h.ServeHTTP(w, r)
}

// Closed lets p refuse what lies below base, for a reason.
func (p *Paths) Closed(base, why string) {
	p.Add(base, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.deny(w, r, why) }))
}

func (p *Paths) deny(w http.ResponseWriter, r *http.Request, why string) {
	p.Record(journal.Record{Kind: journal.Broker, Event: journal.Use, Name: p.Host, Method: r.Method, Verdict: journal.Deny, Reason: why})
	refuse(w, http.StatusForbidden, why)
}
