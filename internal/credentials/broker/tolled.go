package broker

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"ringfence.dev/ringfence/internal/journal"
)

// tolled writes down how much each request took out and brought back, when its answer
// has ended. Connections cannot be counted for that: many requests share one, and the
// agent's own end at the broker.
type tolled struct {
	next   http.RoundTripper
	record Recorder
}

// RoundTrip implements http.RoundTripper. A request without an answer has left all the
// same, as far as its body was read.
func (t tolled) RoundTrip(r *http.Request) (*http.Response, error) {
	toll := &toll{record: t.record, line: journal.Record{Kind: journal.Broker, Event: journal.End, Name: r.URL.Hostname(), Method: r.Method}}
	head := headSize(r)
	toll.sent.Store(head)
	out := r
	if r.Body != nil && r.Body != http.NoBody {
		out = r.WithContext(r.Context())
		out.Body = &upload{r.Body, toll}
		if again := r.GetBody; again != nil {
			out.GetBody = func() (io.ReadCloser, error) {
				b, err := again()
				return &upload{b, toll}, err
			}
		}
	}
	resp, err := t.next.RoundTrip(out)
	if err != nil {
		if l := (*lost)(nil); errors.As(err, &l) || toll.sent.Load() > head { // else nothing left
			toll.end()
		}
		return nil, err
	}
	resp.Body = toll.download(resp.Body)
	return resp, nil
}

// headSize is what a request says before its body.
func headSize(r *http.Request) int64 {
	n := len(r.Method) + len(r.URL.RequestURI())
	for name, values := range r.Header {
		for _, v := range values {
			n += len(name) + len(v)
		}
	}
	return int64(n)
}

// toll is what one request amounts to.
type toll struct {
	record         Recorder
	line           journal.Record
	sent, received atomic.Int64
	once           sync.Once
}

func (t *toll) end() {
	t.once.Do(func() {
		t.line.Sent, t.line.Received = t.sent.Load(), t.received.Load()
		t.record(t.line) // that it left is on record since before it did
	})
}

type upload struct {
	io.ReadCloser
	toll *toll
}

func (u *upload) Read(b []byte) (int, error) {
	n, err := u.ReadCloser.Read(b)
	u.toll.sent.Add(int64(n))
	return n, err
}

// download counts an answer. One that changed its protocol is written to as well.
func (t *toll) download(body io.ReadCloser) io.ReadCloser {
	if both, ok := body.(io.ReadWriteCloser); ok {
		return &duplex{both, t}
	}
	return &download{body, t}
}

type download struct {
	io.ReadCloser
	toll *toll
}

func (d *download) Read(b []byte) (int, error) {
	n, err := d.ReadCloser.Read(b)
	d.toll.received.Add(int64(n))
	if err != nil {
		d.toll.end()
	}
	return n, err
}

func (d *download) Close() error {
	err := d.ReadCloser.Close()
	d.toll.end()
	return err
}

// duplex ends when it is closed: what has nothing more to say may still be spoken to.
type duplex struct {
	io.ReadWriteCloser
	toll *toll
}

func (d *duplex) Read(b []byte) (int, error) {
	n, err := d.ReadWriteCloser.Read(b)
	d.toll.received.Add(int64(n))
	return n, err
}

func (d *duplex) Write(b []byte) (int, error) {
	n, err := d.ReadWriteCloser.Write(b)
	d.toll.sent.Add(int64(n))
	return n, err
}

func (d *duplex) Close() error {
	err := d.ReadWriteCloser.Close()
	d.toll.end()
	return err
}
