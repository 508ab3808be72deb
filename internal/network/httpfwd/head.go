package httpfwd

import (
	"bufio"
	"io"
	"net/textproto"
	"strings"
)

// The bounds of a head.
const (
	maxLine   = 8 << 10  // of the request line: 414
	maxHead   = 64 << 10 // of all of it: 431
	maxFields = 128      // 431
	maxListed = 32       // fields that Connection names
	maxAccept = 512      // of Head.Accept
	maxLength = 1 << 62  // of a body
)

// Form is how a request names its target.
type Form int

const (
	Origin    Form = iota // "/path?query", or "*" with OPTIONS
	Absolute              // "http://host[:port]/path?query", as to a proxy
	Authority             // "host:port", with CONNECT
)

// Chunked is the Length of a body that does not say how long it is.
const Chunked = -1

// Head is what was understood of the head of a request.
type Head struct {
	Method    string
	Form      Form
	Target    string // path and query for the origin, or "*"; empty with CONNECT
	Authority string // of an absolute target or of CONNECT, as it came
	Minor     int    // of HTTP/1.x
	Host      string // of the field; may be empty with 1.0 where Authority is not
	Length    int64  // of the body; Chunked, or 0 for none
	Close     bool   // no request follows this one
	Accept    string // the first, bounded: the form in which a refusal is best read
	Expect    bool   // waits for "100 Continue" before it sends the body
	Upgrade   bool   // asked for another protocol; will not be passed on

	fields []field // what passes, in order
	listed []string
	framed framing
	space  [12]field // for the usual number of them
}

// framing is which of the fields with a meaning to us have been seen.
type framing struct{ host, length, transfer, expect, keepAlive, trailer bool }

// ReadHead reads one head, and of r nothing after it. Errors are io.EOF where no
// request begins, an *Error, or of reading. One empty line before the request is
// skipped: old clients end a body with it.
func ReadHead(r *bufio.Reader) (*Head, error) {
	h := &Head{}
	h.fields = h.space[:0]
	err := scan(r, maxHead, func(s *scanner) error {
		start, err := s.line(maxLine, TargetTooLong)
		if err == nil && start == len(s.buf) {
			start, err = s.line(maxLine, TargetTooLong)
			if err == io.ErrUnexpectedEOF && s.read == len("\r\n") {
				err = io.EOF
			}
		}
		if err != nil {
			return err
		}
		if err := h.requestLine(string(s.buf[start:])); err != nil {
			return err
		}
		s.buf = s.buf[:0]
		if err := s.fields(maxFields); err != nil {
			return err
		}
		return h.take(string(s.buf), s.lines)
	})
	if err == nil {
		err = h.check()
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Fields are those that pass, under their canonical names: for who judges by them.
func (h *Head) Fields() map[string][]string {
	out := make(map[string][]string, len(h.fields))
	for _, f := range h.fields {
		name := textproto.CanonicalMIMEHeaderKey(f.name)
		out[name] = append(out[name], f.value)
	}
	return out
}

func (h *Head) requestLine(line string) error {
	method, rest, _ := strings.Cut(line, " ")
	target, version, _ := strings.Cut(rest, " ")
	switch {
	case version == "HTTP/1.1":
		h.Minor = 1
	case version == "HTTP/1.0":
	case version == "HTTP/2.0":
		return &Error{VersionNotSupported, "HTTP/2 in the clear is not read here: use HTTP/1.1, https, or a tcp:// rule for this port"}
	case len(version) == 8 && strings.HasPrefix(version, "HTTP/") && version[6] == '.' && digits(version[5:6]) && digits(version[7:]):
		return &Error{VersionNotSupported, "only HTTP/1.0 and HTTP/1.1 are spoken here"}
	default:
		return bad("the request line is malformed")
	}
	switch {
	case !ValidMethod(method) || method == "PRI":
		return bad("the method is malformed")
	case method == "TRACE":
		return &Error{NotImplemented, "TRACE sends a request back with its credentials"}
	}
	h.Method = method
	return h.target(target)
}

func (h *Head) target(t string) error {
	const scheme = "http://"
	switch {
	case h.Method == "CONNECT":
		h.Form, h.Authority = Authority, t
		if port, ok := portOf(t); !ok || port == "" {
			return bad("the target of CONNECT is not host:port")
		}
		return nil
	case strings.HasPrefix(t, scheme):
		h.Form, h.Authority, h.Target = Absolute, t[len(scheme):], ""
		if i := strings.IndexAny(h.Authority, "/?"); i >= 0 {
			h.Authority, h.Target = h.Authority[:i], h.Authority[i:]
		}
		if !ValidAuthority(h.Authority) {
			return bad("the target's host is malformed")
		}
		switch {
		case h.Target == "" && h.Method == "OPTIONS": // RFC 9112, 3.2.4
			h.Target = "*"
			return nil
		case h.Target == "" || h.Target[0] == '?':
			h.Target = "/" + h.Target
		}
	default:
		h.Target = t
		if t == "*" && h.Method == "OPTIONS" {
			return nil
		}
	}
	if !ValidOrigin(h.Target) {
		return bad("the target is malformed")
	}
	return nil
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}
