package h2c

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/net/http2/hpack"
)

// Judge says whether one request may pass. Its error ends the connection.
type Judge func(method, scheme, authority, path string) error

// ErrMalformed is in the chain of every error about what the client sent, except
// those of the Judge.
var ErrMalformed = errors.New("malformed HTTP/2")

func malformed(why string) error { return fmt.Errorf("%w: %s", ErrMalformed, why) }

// preface is what a client says first.
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// Copy relays frames from src to dst until the client ends or is refused, and
// returns how many bytes went to dst. Nothing of a refused header block is among
// them. The end of src between two frames is no error.
func Copy(dst io.Writer, src io.Reader, judge Judge) (int64, error) {
	r := &relay{src: src, dst: dst, judge: judge, buf: make([]byte, bufSize)}
	r.hpack = hpack.NewDecoder(initialTable, r.fields.add)
	r.hpack.SetAllowedMaxDynamicTableSize(maxTable)
	r.hpack.SetMaxStringLength(maxList)
	err := r.run()
	// What was judged passes even if what came after it does not.
	if errFlush := r.flush(); err == io.EOF {
		err = errFlush
	}
	return r.n, err
}

// bufSize is room for most frames that have to be whole to be judged. It grows for one
// that is longer.
const bufSize = 16 << 10

// relay is one connection. Its buffer holds, in this order: bytes that have passed,
// bytes that may pass (start to at), bytes not yet judged (at to end).
type relay struct {
	src            io.Reader
	dst            io.Writer
	judge          Judge
	n              int64 // bytes written to dst
	start, at, end int
	buf            []byte

	hpack    *hpack.Decoder
	fields   list
	block    block
	streams  streams
	settled  bool // the client's SETTINGS were seen
	unjudged int  // bytes of control frames
}

func (r *relay) run() error {
	if err := r.need(len(preface)); err != nil {
		return err
	}
	if string(r.buf[r.at:r.at+len(preface)]) != preface {
		return malformed("the connection preface is another")
	}
	r.at += len(preface)
	for {
		if err := r.frame(); err != nil {
			return err
		}
	}
}

// need waits until n bytes are there to be judged. Before it waits it lets pass what
// may pass. It is io.EOF if there is nothing at all to judge.
func (r *relay) need(n int) error {
	for r.end-r.at < n {
		if err := r.flush(); err != nil {
			return err
		}
		if r.at == r.end || len(r.buf)-r.at < n {
			r.end = copy(r.buf, r.buf[r.at:r.end])
			r.start, r.at = 0, 0
		}
		if len(r.buf) < n {
			r.buf = append(r.buf, make([]byte, n-len(r.buf))...)
		}
		m, err := r.src.Read(r.buf[r.end:])
		r.end += m
		if m > 0 {
			continue
		}
		switch {
		case err == io.EOF && (r.end > r.at || r.block.open):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		}
	}
	return nil
}

// flush lets pass what may pass.
func (r *relay) flush() error {
	if r.start == r.at {
		return nil
	}
	n, err := r.dst.Write(r.buf[r.start:r.at])
	r.n += int64(n)
	r.start = r.at
	return err
}

// stream lets the next n bytes pass as they come.
func (r *relay) stream(n int) error {
	for n > 0 {
		if err := r.need(1); err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		m := min(n, r.end-r.at)
		r.at += m
		n -= m
	}
	return nil
}
