package broker

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"ringfence.dev/ringfence/internal/leakscan"
)

var errDecoy = errors.New("a decoy credential was about to leave")

// Seen is told of a decoy in what a client sends, and says whether that ends the
// request.
type Seen func(host, decoy, form string) (end bool)

// Search looks for decoys in what a client sends through the broker: in the request
// line, in the names and values of the fields, in the body, and in what goes once the
// connection has become a WebSocket. Trailers and the extensions of chunks do not go on.
func Search(set *leakscan.Set, seen Seen, next http.Handler) http.Handler {
	if set == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		look := func(text string) bool {
			name, form, found := set.Find([]byte(text))
			return found && seen(r.Host, name, form)
		}
		query, _ := url.QueryUnescape(r.URL.RawQuery)
		end := look(r.Method) || look(r.RequestURI) || look(r.URL.Path) || look(query) || look(r.Host)
		for name, values := range r.Header {
			if decoy, form, found := set.FindName(name); found { // names lose their case
				end = end || seen(r.Host, decoy, form)
			}
			for _, v := range values {
				end = end || look(v)
			}
			end = end || len(values) > 1 && (look(strings.Join(values, "")) || look(strings.Join(values, ","))) // as some put them together
		}
		if end {
			refuse(w, http.StatusForbidden, errDecoy.Error())
			return
		}
		told := func(name, form string) bool { return seen(r.Host, name, form) }
		if r.Body != nil && r.Body != http.NoBody {
			if !plainRequest(r) {
				refuse(w, http.StatusUnsupportedMediaType, "the request is compressed: it must be readable to be judged")
				return
			}
			r.Body = &searchedBody{ReadCloser: r.Body, scan: set.Scanner(), seen: told}
		}
		next.ServeHTTP(&searchedWriter{w, set, told}, r)
	})
}

// plainRequest undoes the coding of a request, so that it can be searched and judged; it
// goes on as it was meant. It is false for a coding that is not known.
func plainRequest(r *http.Request) bool {
	switch strings.ToLower(strings.Join(r.Header.Values("Content-Encoding"), ",")) {
	case "", "identity":
		r.Header.Del("Content-Encoding")
		return true
	case "gzip", "x-gzip":
	default:
		return false
	}
	r.Header.Del("Content-Encoding")
	r.Header.Del("Content-Length")
	r.Body, r.ContentLength = &inflated{under: r.Body}, -1
	if isGit(r.URL.EscapedPath()) {
		measure(r)
	}
	return true
}

// measure finds the length of a body that is not long: there are servers of git that
// want to know it.
func measure(r *http.Request) {
	const most = 1 << 20
	b, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	rest := io.Reader(r.Body)
	switch {
	case err != nil:
		rest = failing{err}
	case len(b) <= most:
		r.ContentLength, rest = int64(len(b)), strings.NewReader("")
	}
	r.Body = &body{io.MultiReader(bytes.NewReader(b), rest), r.Body}
}

// failing is a body that ends in an error.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

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
	scan *leakscan.Scanner
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
