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
	buf := outs.Get().(*[]byte)
	*buf = h.append((*buf)[:0], host)
	n, err := w.Write(*buf)
	outs.Put(buf)
	return int64(n), err
}

func (h *Head) append(b []byte, host string) []byte {
	b = append(b, h.Method...)
	b = append(b, ' ')
	b = append(b, h.Target...)
	b = append(b, " HTTP/1.1\r\nHost: "...)
	b = append(b, host...)
	b = append(b, "\r\n"...)
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
