package broker

import (
	"errors"
	"io"
	"net/http"
	"net/url"

	"ringfence.dev/ringfence/internal/needle"
)

var errDecoy = errors.New("a decoy credential was about to leave")

// Seen is told of a decoy in what a client sends, and says whether that ends the
// request.
type Seen func(host, decoy, form string) (end bool)

// Search looks for decoys in what a client sends through the broker: in the target, in
// the fields and in the body.
func Search(set *needle.Set, seen Seen, next http.Handler) http.Handler {
	if set == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		look := func(text string) bool {
			name, form, found := set.Find([]byte(text))
			return found && seen(r.Host, name, form)
		}
		query, _ := url.QueryUnescape(r.URL.RawQuery)
		end := look(r.RequestURI) || look(r.URL.Path) || look(query)
		for name, values := range r.Header {
			if decoy, form, found := set.FindName(name); found { // names lose their case
				end = end || seen(r.Host, decoy, form)
			}
			for _, v := range values {
				end = end || look(v)
			}
		}
		if end {
			refuse(w, http.StatusForbidden, errDecoy.Error())
			return
		}
		if r.Body != nil && r.Body != http.NoBody {
			r.Body = &searchedBody{ReadCloser: r.Body, scan: set.Scanner(), seen: func(name, form string) bool { return seen(r.Host, name, form) }}
		}
		next.ServeHTTP(w, r)
	})
}

// searchedBody ends where a decoy does. One that does not end it is told once.
type searchedBody struct {
	io.ReadCloser
	scan *needle.Scanner
	seen func(name, form string) bool
	told bool
}

func (s *searchedBody) Read(b []byte) (int, error) {
	n, err := s.ReadCloser.Read(b)
	if s.told {
		return n, err
	}
	if name, form, found := s.scan.Scan(b[:n]); found {
		s.told = true
		if s.seen(name, form) {
			return 0, errDecoy
		}
	}
	return n, err
}
