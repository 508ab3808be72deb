package h2c

import "fmt"

// The bounds of a header block, before and after it is decoded.
const (
	maxBlock        = 64 << 10
	maxContinuation = 8
	maxList         = 64 << 10 // as SETTINGS_MAX_HEADER_LIST_SIZE counts
	initialTable    = 4096     // before a client may know what its server takes
	maxTable        = 64 << 10
)

// block is a header block that has begun. Most are whole in one HEADERS frame and
// are judged where they lie; the frames of the others are held back until the last.
type block struct {
	open     bool
	stream   uint32
	ends     bool // the client's half of the stream
	frames   int  // CONTINUATIONs
	held     []byte
	fragment []byte
}

// headers takes a HEADERS frame.
func (r *relay) headers(f frame) error {
	if err := r.need(headerLen + f.length); err != nil {
		return err
	}
	fragment, err := unpad(f, r.buf[r.at+headerLen:r.at+headerLen+f.length])
	if err != nil {
		return err
	}
	r.block.stream, r.block.ends = f.stream, f.has(flagEndStream)
	if !f.has(flagEndHeaders) {
		r.block.open, r.block.frames = true, 0
		return r.hold(f, fragment)
	}
	if err := r.judgeBlock(fragment); err != nil {
		return err
	}
	r.at += headerLen + f.length
	return nil
}

// continuation takes a CONTINUATION frame; frame has seen that it is in its place, if
// there is one.
func (r *relay) continuation(f frame) error {
	if !r.block.open {
		return malformed("CONTINUATION of nothing")
	}
	if r.block.frames++; r.block.frames > maxContinuation || len(r.block.fragment)+f.length > maxBlock {
		return malformed("a header block is too long")
	}
	if err := r.need(headerLen + f.length); err != nil {
		return err
	}
	if err := r.hold(f, r.buf[r.at+headerLen:r.at+headerLen+f.length]); err != nil || !f.has(flagEndHeaders) {
		return err
	}
	if err := r.judgeBlock(r.block.fragment); err != nil {
		return err
	}
	n, err := r.dst.Write(r.block.held)
	r.n += int64(n)
	r.block = block{}
	return err
}

// hold keeps back a frame, and of it the fragment. What was before it passes now.
func (r *relay) hold(f frame, fragment []byte) error {
	if err := r.flush(); err != nil {
		return err
	}
	whole := headerLen + f.length
	r.block.held = append(r.block.held, r.buf[r.at:r.at+whole]...)
	r.block.fragment = append(r.block.fragment, fragment...)
	r.at += whole
	r.start = r.at
	return nil
}

// unpad takes padding and priority off the payload of HEADERS.
func unpad(f frame, p []byte) ([]byte, error) {
	pad := 0
	if f.has(flagPadded) {
		if len(p) == 0 {
			return nil, malformed("there is no room for padding")
		}
		pad, p = int(p[0]), p[1:]
	}
	if f.has(flagPriority) {
		if len(p) < 5 {
			return nil, malformed("there is no room for a priority")
		}
		p = p[5:]
	}
	if pad > len(p) {
		return nil, malformed("the padding is longer than its frame")
	}
	return p[:len(p)-pad], nil
}

// judgeBlock decodes a whole block and judges what it says.
func (r *relay) judgeBlock(fragment []byte) error {
	r.fields.reset()
	if _, err := r.hpack.Write(fragment); err != nil {
		return fmt.Errorf("%w: decode fields: %w", ErrMalformed, err)
	}
	if err := r.hpack.Close(); err != nil {
		return fmt.Errorf("%w: decode fields: %w", ErrMalformed, err)
	}
	if r.fields.size > maxList {
		return malformed("there are too many bytes of fields")
	}
	id := r.block.stream
	if _, open := r.streams.find(id); open {
		if err := r.fields.trailers(); err != nil {
			return err
		}
		if !r.block.ends {
			return malformed("trailers do not end the stream")
		}
		return r.streams.take(id, 0, true)
	}
	if id%2 == 0 || id <= r.streams.last {
		return malformed("the number of a stream is not a new one")
	}
	q, err := r.fields.request()
	if err != nil {
		return err
	}
	if err := r.streams.begin(id, q.length, r.block.ends); err != nil {
		return err
	}
	// Last, so that what was allowed is what passes.
	if err := r.judge(q.method, q.scheme, q.authority, q.path); err != nil {
		return fmt.Errorf("stream %d: %w", id, err)
	}
	return nil
}
