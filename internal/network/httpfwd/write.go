package httpfwd

import (
	"fmt"
	"io"
	"strconv"
	"sync"
)

// outs holds buffers for heads on their way out.
var outs = sync.Pool{New: func() any { b := make([]byte, 0, 2048); return &b }}

// Write writes the head for an origin in one piece. host is what the request was
// judged by; the client's own Host is not used. It comes first, so that no field of
// the client can stand before it. The client's other fields keep their order.
func (h *Head) Write(w io.Writer, host string) (int64, error) {
	if h.Form == Authority || !ValidAuthority(host) {
		return 0, fmt.Errorf("write head: %s for %q", h.Method, host)
	}
	return h.write(w, "", host, "")
}

// WriteVia is Write for a proxy that passes requests on: in absolute form, with the
// proxy's own authorization if there is one.
func (h *Head) WriteVia(w io.Writer, host, authorization string) (int64, error) {
	if h.Form == Authority || !ValidAuthority(host) || !ValidValue(authorization) {
		return 0, fmt.Errorf("write head: %s for %q by a proxy", h.Method, host)
	}
	if authorization != "" {
		authorization = "Proxy-Authorization: " + authorization + "\r\n"
	}
	return h.write(w, "http://"+host, host, authorization)
}

func (h *Head) write(w io.Writer, before, host, more string) (int64, error) {
	buf := outs.Get().(*[]byte)
	*buf = h.append((*buf)[:0], before, host, more)
	n, err := w.Write(*buf)
	outs.Put(buf)
	return int64(n), err
}

func (h *Head) append(b []byte, before, host, more string) []byte {
	b = append(b, h.Method...)
	b = append(b, ' ')
	b = append(b, before...)
	if before == "" || h.Target != "*" { // of a whole server, an absolute form has no path
		b = append(b, h.Target...)
	}
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\n"...)
	b = append(b, more...)
	for _, f := range h.fields {
		b = appendField(b, f)
	}
	switch {
	case h.Length == Chunked:
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	case h.framed.length: // also of 0, which some servers want to be told
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, h.Length, 10)
		b = append(b, "\r\n"...)
	}
	if h.Expect {
		b = append(b, "Expect: 100-continue\r\n"...)
	}
	if h.Close {
		b = append(b, "Connection: close\r\n"...)
	}
	return append(b, "\r\n"...)
}

func appendField(b []byte, f field) []byte {
	b = append(b, f.name...)
	b = append(b, ": "...)
	b = append(b, f.value...)
	return append(b, "\r\n"...)
}
