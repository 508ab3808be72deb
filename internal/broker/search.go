package broker

import (
	"compress/gzip"
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
			if r.Header.Get("Content-Encoding") == "gzip" && !isGit(r.URL.EscapedPath()) {
				inflate(r)
			}
			r.Body = &searchedBody{ReadCloser: r.Body, scan: set.Scanner(), seen: func(name, form string) bool { return seen(r.Host, name, form) }}
		}
		next.ServeHTTP(w, r)
	})
}

// inflate undoes the coding of a request, so that it can be searched and judged; it goes
// on as it was meant. (Git's own handler reads what git compresses.)
func inflate(r *http.Request) {
	r.Body = &inflated{under: r.Body}
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
	r.ContentLength = -1
}

// inflated begins to read when somebody does: the client may wait to be asked.
type inflated struct {
	under io.ReadCloser
	z     *gzip.Reader
}

func (f *inflated) Read(b []byte) (n int, err error) {
	if f.z == nil {
		if f.z, err = gzip.NewReader(f.under); err != nil {
			return 0, errors.New("the body is not what its coding says")
		}
	}
	return f.z.Read(b)
}

func (f *inflated) Close() error { return f.under.Close() }

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
