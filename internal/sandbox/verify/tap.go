package verify

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

// What a link looks like on its way, as a far end writes it: a preface of eight bytes, then
// frames, each with a head of eight: a type, a zero, the length of the body, a stream.
const (
	linkHead                = 8
	opens, data             = 1, 2
	credit, fin, reset, end = 3, 4, 5, 6
)

// forgedFrame is a frame of any type and stream, with the length that it claims.
func forgedFrame(kind byte, stream uint32, claims int, body []byte) []byte {
	b := append([]byte{kind, 0}, binary.BigEndian.AppendUint16(nil, uint16(claims))...)
	return append(binary.BigEndian.AppendUint32(b, stream), body...)
}

// tap stands in the way between a supervisor and a far end, and can speak for the latter. It
// is what an attacker has who has taken the far end over.
type tap struct {
	io.ReadWriteCloser
	came chan []byte // whole frames for the supervisor
	over chan struct{}
	once sync.Once
	left []byte // of what came

	mu      sync.Mutex
	why     error // why nothing more comes
	last    uint32
	greeted bool
	forged  []uint32 // streams that only the attacker knows
	ended   map[uint32]bool
}

func newTap(rw io.ReadWriteCloser) *tap {
	t := &tap{ReadWriteCloser: rw, came: make(chan []byte), over: make(chan struct{}), ended: map[uint32]bool{}}
	go t.carry()
	return t
}

// carry passes on what the far end says, a frame at a time.
func (t *tap) carry() {
	err := t.pass(linkHead, 0)
	for err == nil {
		err = t.pass(linkHead, 1)
	}
	t.stop(err)
}

// pass takes a head, and the body that it claims if it is one of a frame.
func (t *tap) pass(head, frames int) error {
	b := make([]byte, head)
	if _, err := io.ReadFull(t.ReadWriteCloser, b); err != nil {
		return err
	}
	body := make([]byte, frames*int(binary.BigEndian.Uint16(b[2:])))
	if _, err := io.ReadFull(t.ReadWriteCloser, body); err != nil {
		return err
	}
	if frames > 0 && b[0] == opens {
		t.mu.Lock()
		t.last = binary.BigEndian.Uint32(b[4:])
		t.mu.Unlock()
	}
	return t.say(append(b, body...))
}

var errCut = errors.New("the link is cut")

// say lets the supervisor hear something.
func (t *tap) say(b []byte) error {
	select {
	case t.came <- b:
		return nil
	case <-t.over:
		return errCut
	}
}

// Read implements io.Reader.
func (t *tap) Read(b []byte) (int, error) {
	if len(t.left) == 0 {
		select {
		case t.left = <-t.came:
		case <-t.over:
			t.mu.Lock()
			defer t.mu.Unlock()
			return 0, t.why
		}
	}
	n := copy(b, t.left)
	t.left = t.left[n:]
	return n, nil
}

// Write implements io.Writer. What is for a forged stream does not go to the far end, which
// knows of none. A supervisor writes whole frames.
func (t *tap) Write(b []byte) (int, error) {
	rest := b
	if !t.greeted {
		t.greeted = true
		rest = b[min(linkHead, len(b)):]
	}
	pass := slices.Clone(b[:len(b)-len(rest)])
	for len(rest) > 0 {
		size := linkHead
		if len(rest) >= linkHead {
			size += int(binary.BigEndian.Uint16(rest[2:]))
		}
		if size > len(rest) {
			return 0, fmt.Errorf("%d bytes of a frame with %d", len(rest), size)
		}
		if !t.swallow(rest[0], binary.BigEndian.Uint32(rest[4:])) {
			pass = append(pass, rest[:size]...)
		}
		rest = rest[size:]
	}
	if _, err := t.ReadWriteCloser.Write(pass); err != nil {
		return 0, err
	}
	return len(b), nil
}

// swallow takes what is for a forged stream, and notes the end of it.
func (t *tap) swallow(kind byte, stream uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.forged, stream) {
		return false
	}
	if kind == fin || kind == reset || kind == end {
		t.ended[stream] = true
	}
	return true
}

// connect forges a connection that the sandbox's network would have made, and returns its
// stream.
func (t *tap) connect(port, to string) (uint32, error) {
	t.mu.Lock()
	t.last += 2
	stream := t.last
	t.forged = append(t.forged, stream)
	t.mu.Unlock()
	header := fmt.Appendf([]byte{1}, `{"port":%q,"from":"192.0.2.7:7077","to":%q}`, port, to)
	return stream, t.say(forgedFrame(opens, stream, len(header), header))
}

// refused says whether the supervisor has ended a forged stream.
func (t *tap) refused(stream uint32) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended[stream]
}

// stop ends what comes, for a reason.
func (t *tap) stop(why error) {
	t.once.Do(func() {
		t.mu.Lock()
		t.why = why
		t.mu.Unlock()
		close(t.over)
	})
}

// Close implements io.Closer.
func (t *tap) Close() error {
	t.stop(errCut)
	return t.ReadWriteCloser.Close()
}
