package link

import (
	"encoding/binary"
	"fmt"
)

// The bounds of a link. Both ends have the same.
const (
	MaxFrame   = 64 << 10   // one frame, with its head
	MaxStreams = 4096       // at once, whoever opened them
	MaxConns   = 3840       // of them: those that the far end opened, so that the near end always can
	Window     = 16 << 10   // what a stream may send before anybody reads
	MaxWindow  = 256 << 10  // the same, of a reader that keeps up
	Growth     = 32 << 20   // what all windows of a link may grow by together
	MaxMessage = Window - 2 // on a stream of messages

	headSize = 8
	maxBody  = MaxFrame - headSize

	// MaxCopy is how much is best written at once: as much as two frames carry. What is
	// a little more makes a frame of its own for the rest.
	MaxCopy = 2 * maxBody
)

type frameType uint8

const (
	typeOpen   frameType = 1 + iota // the opener: kind and header
	typeData                        // both
	typeCredit                      // both: the peer may send so many bytes more
	typeFin                         // both: no more data from this side
	typeReset                       // both: the last frame, and why
	typeDone                        // both: the last frame, after fin went both ways
	typePing                        // near
	typePong                        // far
)

// shapes says how long the body of each type may be, and whether it belongs to a stream.
var shapes = [...]struct {
	least, most int
	stream      bool
}{
	typeOpen:   {1, maxBody, true},
	typeData:   {0, maxBody, true},
	typeCredit: {4, 4, true},
	typeFin:    {0, 0, true},
	typeReset:  {1, 1, true},
	typeDone:   {0, 0, true},
	typePing:   {0, 0, false},
	typePong:   {0, 0, false},
}

// frame is one frame. Its body lies in the buffer that it was read from.
type frame struct {
	kind frameType
	id   uint32
	body []byte
}

// parse reads the frame at the start of b. It returns size 0 if b has no whole frame
// yet. A head is judged as soon as it is there, whether or not its body ever comes.
func parse(b []byte) (f frame, size int, err error) {
	if len(b) < headSize {
		return frame{}, 0, nil
	}
	f.kind, f.id = frameType(b[0]), binary.BigEndian.Uint32(b[4:])
	if int(f.kind) >= len(shapes) || f.kind == 0 {
		return frame{}, 0, fmt.Errorf("%w: %d", UnknownType, f.kind)
	}
	if b[1] != 0 {
		return frame{}, 0, fmt.Errorf("%w: %#x", ReservedBits, b[1])
	}
	n, shape := int(binary.BigEndian.Uint16(b[2:])), shapes[f.kind]
	if n < shape.least || n > shape.most {
		return frame{}, 0, fmt.Errorf("%w: type %d with %d bytes", WrongLength, f.kind, n)
	}
	if shape.stream != (f.id != 0) {
		return frame{}, 0, fmt.Errorf("%w: type %d on stream %d", WrongStream, f.kind, f.id)
	}
	if len(b) < headSize+n {
		return frame{}, 0, nil
	}
	f.body = b[headSize : headSize+n]
	return f, headSize + n, nil
}

// appendFrame is the inverse of parse, for a body in parts.
func appendFrame(b []byte, kind frameType, id uint32, body ...[]byte) []byte {
	n := 0
	for _, p := range body {
		n += len(p)
	}
	b = append(b, byte(kind), 0, byte(n>>8), byte(n))
	b = binary.BigEndian.AppendUint32(b, id)
	for _, p := range body {
		b = append(b, p...)
	}
	return b
}
