package broker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
)

// relay passes judged requests on and answers back, byte by byte as they come: an
// answer may be a stream of events that somebody is waiting for.
func relay(to *url.URL, rt http.RoundTripper, failed func(http.ResponseWriter, *http.Request, error)) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = to.Host
			r.Out.URL.RawQuery = r.In.URL.RawQuery // as it was judged
		},
		Transport: rt, FlushInterval: -1, BufferPool: buffers{},
		ErrorLog:     log.New(io.Discard, "", 0),
		ErrorHandler: failed,
	}
}

// buffers lends what the relay copies through.
type buffers struct{}

var spare = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

func (buffers) Get() []byte  { return *spare.Get().(*[]byte) }
func (buffers) Put(b []byte) { spare.Put(&b) }

// unreachable is what a client is told of an upstream that did not answer, without
// anything that is the host's own business.
func unreachable(err error) (status int, why string) {
	var missing *Missing
	switch {
	case errors.As(err, &missing):
		return http.StatusUnauthorized, missing.Reason
	case errors.Is(err, context.Canceled):
		return 499, "the client went away"
	case errors.Is(err, errCoding), errors.Is(err, errPart), errors.Is(err, errLetters), errors.Is(err, errLongAnswer):
		return http.StatusBadGateway, err.Error()
	case errors.Is(err, errUnrecorded):
		return http.StatusServiceUnavailable, err.Error()
	}
	return http.StatusBadGateway, "the upstream was not reached: " + err.Error()
}

// held bounds how much of requests is in memory at once. An answer may take its time,
// and what it answers to is kept until then, to be sent again if need be.
type held struct{ bytes atomic.Int64 }

const maxHeld = 512 << 20

// take reserves room; it is false where there is none.
func (h *held) take(n int64) bool {
	if h.bytes.Add(n) > maxHeld {
		h.bytes.Add(-n)
		return false
	}
	return true
}

func (h *held) give(n int64) { h.bytes.Add(-n) }

// memory is for all sites together: they stand in one process.
var memory held

// roomFor reserves memory for a body; the caller gives it back.
func roomFor(r *http.Request, most int64) (int64, bool) {
	if r.ContentLength >= 0 {
		most = min(most, r.ContentLength)
	}
	return most, memory.take(most)
}

var errLong = errors.New("the request is too long")

// whole reads a request's body to be judged, and puts it back so that it can be sent,
// more than once if need be.
func whole(r *http.Request, most int64) ([]byte, error) {
	if r.ContentLength > most {
		return nil, errLong
	}
	if len(r.Header.Values("Content-Encoding")) > 0 {
		return nil, errors.New("the request is compressed: it must be readable to be judged")
	}
	b, err := io.ReadAll(io.LimitReader(r.Body, most+1))
	if err != nil {
		return nil, errors.New("the request was cut")
	}
	if int64(len(b)) > most {
		return nil, errLong
	}
	putBack(r, b)
	return b, nil
}

func putBack(r *http.Request, b []byte) {
	r.ContentLength, r.TransferEncoding = int64(len(b)), nil
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	r.Body, _ = r.GetBody()
	if len(b) == 0 {
		r.Body = http.NoBody
	}
}

// only keeps the fields of a request that may pass.
func only(h http.Header, may func(name string) bool) http.Header {
	out := http.Header{}
	for name, values := range h {
		if may(name) && !strings.EqualFold(name, "Host") {
			out[name] = values
		}
	}
	return out
}
