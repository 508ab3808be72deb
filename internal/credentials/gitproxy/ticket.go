package gitproxy

import (
	"crypto/rand"
	"encoding/hex"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"sync"
	"time"
)

// ticket is where an LFS object is, and what it takes to get there. The client
// has its number only.
type ticket struct {
	method string
	url    *url.URL
	header http.Header // may hold a credential
	size   int64
	until  time.Time
	access
}

const (
	ticketTTL  = time.Hour
	maxTickets = 1 << 14
)

// tickets are those that have been given out.
type tickets struct {
	mu sync.Mutex
	m  map[string]ticket
}

var ticketName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{32}$`) })

func isTicket(s string) bool { return ticketName().MatchString(s) }

// add keeps a ticket and returns its number. When there is no room the old ones
// go, and if that does not help, all: a client asks again.
func (s *tickets) add(t ticket, now time.Time) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	id := hex.EncodeToString(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.m) >= maxTickets {
		for id, old := range s.m {
			if now.After(old.until) {
				delete(s.m, id)
			}
		}
	}
	if s.m == nil || len(s.m) >= maxTickets {
		s.m = map[string]ticket{}
	}
	s.m[id] = t
	return id
}

// get returns a ticket that is still good.
func (s *tickets) get(id string, now time.Time) (ticket, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, ok := s.m[id]
	if ok && now.After(t.until) {
		delete(s.m, id)
		return ticket{}, false
	}
	return t, ok
}

// serveObject moves an LFS object between the client and where it is kept.
func (f *Forge) serveObject(w http.ResponseWriter, r *http.Request, id string) {
	t, ok := f.tickets.get(id, f.now())
	t.call = lfsObject
	switch {
	case !ok:
		f.fail(w, t.access, deny(http.StatusNotFound, "this LFS object is not there, or not any more"), "no such ticket")
		return
	case r.Method != t.method:
		f.fail(w, t.access, deny(http.StatusMethodNotAllowed, "this LFS object goes another way"), "ticket for another method")
		return
	case t.method == http.MethodPut && r.ContentLength != t.size:
		f.fail(w, t.access, deny(http.StatusLengthRequired, "the LFS object has another length than was said"), "upload of another length")
		return
	}
	resp, err := f.moveObject(w, r, t)
	if err != nil {
		f.fail(w, t.access, deny(http.StatusBadGateway, "%s cannot be reached", clean(t.url.Host)), err.Error())
		return
	}
	defer resp.Body.Close()
	good := resp.StatusCode/100 == 2 && resp.StatusCode != http.StatusPartialContent
	if !good {
		status := resp.StatusCode
		if status == http.StatusUnauthorized || status < 400 {
			status = http.StatusBadGateway
		}
		no := deny(status, "%s answers with status %d for an LFS object", clean(t.url.Host), resp.StatusCode)
		f.fail(w, t.access, no, no.text)
		return
	}
	f.passObject(w, resp, t)
}

// moveObject sends the client's half to where the object is kept.
func (f *Forge) moveObject(w http.ResponseWriter, r *http.Request, t ticket) (*http.Response, error) {
	var body io.Reader
	switch t.method {
	case http.MethodPut:
		body = http.MaxBytesReader(w, r.Body, t.size)
	case http.MethodPost:
		body = http.MaxBytesReader(w, r.Body, maxVerify)
	}
	req, err := http.NewRequestWithContext(r.Context(), t.method, t.url.String(), body)
	if err != nil {
		return nil, err
	}
	req.Header = t.header.Clone()
	req.Header.Set("User-Agent", agent)
	req.Header.Set("Accept-Encoding", "identity")
	if body != nil {
		if req.ContentLength = r.ContentLength; r.ContentLength == 0 {
			req.Body = http.NoBody
		}
		if req.Header.Get("Content-Type") == "" {
			kind := "application/octet-stream"
			if t.method == http.MethodPost {
				kind = lfsType
			}
			req.Header.Set("Content-Type", kind)
		}
	}
	if t.method == http.MethodPost {
		req.Header.Set("Accept", lfsType)
	}
	// No range of the client's goes with it: in half an answer half a credential would
	// not be found. git-lfs begins anew where it gets the whole.
	return t.transport.RoundTrip(req)
}

// passObject hands the other half back.
func (f *Forge) passObject(w http.ResponseWriter, resp *http.Response, t ticket) {
	kind := "application/octet-stream"
	if t.method != http.MethodGet {
		kind = lfsType
	}
	w.Header().Set("Content-Type", kind)
	if v := resp.Header.Get("Content-Length"); v != "" && t.method == http.MethodGet {
		w.Header().Set("Content-Length", v)
	}
	w.WriteHeader(resp.StatusCode)
	if err := stream(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler)
	}
}
