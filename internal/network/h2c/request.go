package h2c

import (
	"strconv"
	"strings"

	"golang.org/x/net/http2/hpack"

	"ringfence.dev/ringfence/internal/network/httpfwd"
)

// list is the fields of one block.
type list struct {
	fields []hpack.HeaderField
	size   int
}

func (l *list) reset() { l.fields, l.size = l.fields[:0], 0 }

// add takes a field from the decoder. A few bytes can name a large entry of the table
// many times, so what is beyond the bound is counted and not kept.
func (l *list) add(f hpack.HeaderField) {
	if l.size += int(f.Size()); l.size <= maxList {
		l.fields = append(l.fields, f)
	}
}

// request is what a block says about where it wants to go.
type request struct {
	method, scheme, authority, path string
	length                          int64 // of the body, or unknown
}

// pseudo are the places for pseudo-fields while a request is put together.
type pseudo struct{ method, scheme, authority, path, host, length *string }

// request reads a block as a request. All that RFC 9113, 8 calls malformed is, and
// so is what an origin could not pass on over HTTP/1 without changing its meaning.
func (l *list) request() (request, error) {
	var p pseudo
	regular := false
	for i := range l.fields {
		f := &l.fields[i]
		place := p.place(f.Name)
		switch {
		case !f.IsPseudo():
			regular = true
			if err := checkField(f); err != nil {
				return request{}, err
			}
		case regular || place == nil:
			return request{}, malformed("a pseudo-field is unknown or comes late")
		}
		if place == nil {
			continue
		}
		if *place != nil {
			return request{}, malformed("there are two of a field that names or frames the request")
		}
		*place = &f.Value
	}
	return p.request()
}

// place is where the value of the field called name goes, or nil.
func (p *pseudo) place(name string) **string {
	switch name {
	case ":method":
		return &p.method
	case ":scheme":
		return &p.scheme
	case ":authority":
		return &p.authority
	case ":path":
		return &p.path
	case "host":
		return &p.host
	case "content-length":
		return &p.length
	}
	return nil // among them :protocol, which makes a tunnel of a stream
}

func (p *pseudo) request() (request, error) {
	if p.authority == nil {
		p.authority = p.host
	}
	if p.method == nil || p.scheme == nil || p.authority == nil || p.path == nil {
		return request{}, malformed("a pseudo-field is missing")
	}
	q := request{*p.method, *p.scheme, *p.authority, *p.path, unknown}
	switch {
	case p.host != nil && *p.host != q.authority:
		return q, malformed("host is not :authority")
	case !httpfwd.ValidMethod(q.method) || q.method == "CONNECT" || q.method == "TRACE" || q.method == "PRI":
		return q, malformed("the method does not pass")
	case q.scheme != "http":
		return q, malformed("the scheme is not http")
	case !httpfwd.ValidAuthority(q.authority):
		return q, malformed(":authority is malformed")
	case !httpfwd.ValidOrigin(q.path) && (q.path != "*" || q.method != "OPTIONS"):
		return q, malformed(":path is malformed")
	}
	if p.length != nil {
		n, err := strconv.ParseUint(*p.length, 10, 62)
		if err != nil || strconv.FormatUint(n, 10) != *p.length {
			return q, malformed("content-length is malformed")
		}
		q.length = int64(n)
	}
	return q, nil
}

// trailers judges a block that comes after a body.
func (l *list) trailers() error {
	for i := range l.fields {
		f := &l.fields[i]
		if err := checkField(f); err != nil {
			return err
		}
		if !httpfwd.ValidTrailer(f.Name) {
			return malformed("a trailer frames, routes or alters the request")
		}
	}
	return nil
}

// checkField judges a field that is not a pseudo-field.
func checkField(f *hpack.HeaderField) error {
	switch f.Name {
	case "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade", "http2-settings":
		return malformed("a field is of HTTP/1 connections")
	case "te":
		if f.Value != "trailers" {
			return malformed("te is not trailers")
		}
	}
	if !httpfwd.ValidToken(f.Name) || strings.ToLower(f.Name) != f.Name || httpfwd.Disguised(f.Name) {
		return malformed("the name of a field is malformed")
	}
	if !httpfwd.ValidValue(f.Value) || strings.Trim(f.Value, " \t") != f.Value {
		return malformed("the value of a field is malformed")
	}
	return nil
}
