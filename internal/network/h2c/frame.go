package h2c

import "encoding/binary"

// The bounds of a connection. A server may announce that it takes larger frames
// than 16 KiB, and a client may then send them; the announcement goes the other way
// and is not seen here. Frames that are judged are held to the size of the longest
// header block; DATA passes in pieces and may be of any size.
const (
	headerLen = 9
	maxFrame  = 65536

	maxUnjudged = 64 << 10 // bytes of control frames on one connection
)

// The types of frames (RFC 9113, 6).
const (
	typeData         = 0x0
	typeHeaders      = 0x1
	typePriority     = 0x2
	typeReset        = 0x3
	typeSettings     = 0x4
	typePushPromise  = 0x5
	typePing         = 0x6
	typeGoAway       = 0x7
	typeWindowUpdate = 0x8
	typeContinuation = 0x9
)

// The flags that change how a frame is read.
const (
	flagEndStream  = 0x1 // DATA, HEADERS
	flagAck        = 0x1 // SETTINGS, PING
	flagEndHeaders = 0x4 // HEADERS, CONTINUATION
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// frame is the header of one.
type frame struct {
	length      int
	kind, flags byte
	stream      uint32
}

func (f frame) has(flag byte) bool { return f.flags&flag != 0 }

// frame judges the next frame and lets it pass.
func (r *relay) frame() error {
	if err := r.need(headerLen); err != nil {
		return err
	}
	b := r.buf[r.at:]
	f := frame{
		length: int(b[0])<<16 | int(b[1])<<8 | int(b[2]),
		kind:   b[3], flags: b[4],
		stream: binary.BigEndian.Uint32(b[5:]),
	}
	switch {
	case f.kind != typeData && f.length > maxFrame:
		return malformed("a frame is too long")
	case f.stream>>31 != 0:
		return malformed("the reserved bit of a stream is set")
	case r.block.open && (f.kind != typeContinuation || f.stream != r.block.stream):
		return malformed("a header block is interrupted")
	case !r.settled && (f.kind != typeSettings || f.has(flagAck)):
		return malformed("the first frame is not SETTINGS")
	}
	switch f.kind {
	case typeData:
		return r.data(f)
	case typeHeaders:
		return r.headers(f)
	case typeContinuation:
		return r.continuation(f)
	}
	return r.control(f)
}

// control judges the frames that carry neither fields nor data. Their payload is
// none of our business; its length is, for a server that disagrees with it would read
// the next frame from another place.
func (r *relay) control(f frame) error {
	ok := false
	switch f.kind {
	case typeSettings:
		r.settled = true
		ok = f.stream == 0 && f.length%6 == 0 && (!f.has(flagAck) || f.length == 0)
	case typePing:
		ok = f.stream == 0 && f.length == 8
	case typeGoAway: // with a word on why, not with a letter
		ok = f.stream == 0 && f.length >= 8 && f.length <= 8+128
	case typePriority:
		ok = f.stream != 0 && f.length == 5
	case typeWindowUpdate:
		ok = f.length == 4 && !r.streams.idle(f.stream)
	case typeReset:
		ok = f.stream != 0 && f.length == 4 && !r.streams.idle(f.stream)
		r.streams.close(f.stream)
	default:
		// Among them PUSH_PROMISE, which only servers send. Extensions may be ignored
		// by those who do not know them; nothing says that the origin is one of those.
		return malformed("a frame of this type does not pass")
	}
	if !ok {
		return malformed("a control frame is out of place or has another length")
	}
	// No rule is asked about these, so what they can carry is little. Windows are
	// left out: a long download opens many.
	if f.kind != typeWindowUpdate {
		if r.unjudged += f.length; r.unjudged > maxUnjudged {
			return malformed("there are too many control frames")
		}
	}
	r.at += headerLen
	return r.stream(f.length)
}

// data judges a DATA frame and lets it pass as it comes.
func (r *relay) data(f frame) error {
	pad, size := 0, f.length
	if f.has(flagPadded) {
		if f.length == 0 {
			return malformed("there is no room for padding")
		}
		if err := r.need(headerLen + 1); err != nil {
			return err
		}
		pad = 1 + int(r.buf[r.at+headerLen])
	}
	if size -= pad; size < 0 {
		return malformed("the padding is longer than its frame")
	}
	if err := r.streams.take(f.stream, size, f.has(flagEndStream)); err != nil {
		return err
	}
	r.at += headerLen
	return r.stream(f.length)
}
