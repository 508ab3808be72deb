package object

import (
	"bufio"
	"errors"
	"fmt"
	"math/bits"
)

// maxObject bounds one object. Commits, tags and trees are far smaller; a tag on
// a larger blob is not signed.
const maxObject = 32 << 20

// budget is how many bytes one question may still inflate.
type budget int64

var errBudget = errors.New("more bytes to inflate than one question may")

func (b *budget) take(n int64) error {
	if n < 0 || n > maxObject {
		return fmt.Errorf("object of more than %d bytes", maxObject)
	}
	*b -= budget(n + 64) // an empty one is work too
	if *b < 0 {
		return errBudget
	}
	return nil
}

// inflate reads a zlib stream of exactly size bytes. What follows it is of no
// concern.
func inflate(r *bufio.Reader, size int64, b *budget) ([]byte, error) {
	if err := b.take(size); err != nil {
		return nil, err
	}
	var z inflater
	return z.bytes(r, size)
}

// applyDelta makes an object from its base.
func applyDelta(base, delta []byte, b *budget) ([]byte, error) {
	out, err := apply(base, delta, maxObject)
	if err != nil {
		return nil, err
	}
	return out, b.take(int64(len(out)))
}

// apply rebuilds an object from its base. Every size in a delta is checked, and
// nothing may be left over.
func apply(base, delta []byte, most int64) ([]byte, error) {
	from, delta, err := deltaSize(delta)
	if err != nil {
		return nil, err
	}
	size, delta, err := deltaSize(delta)
	if err != nil {
		return nil, err
	}
	if from != int64(len(base)) {
		return nil, bad("delta for a base of %d bytes, it has %d", from, len(base))
	}
	if size > most {
		return nil, bad("object of %d bytes, %d are the most", size, most)
	}
	out := make([]byte, 0, min(size, int64(len(base)+len(delta))))
	for len(delta) > 0 {
		var piece []byte
		if piece, delta, err = instruction(base, delta); err != nil {
			return nil, err
		}
		if int64(len(out)+len(piece)) > size {
			return nil, bad("delta makes more than the %d bytes it names", size)
		}
		out = append(out, piece...)
	}
	if int64(len(out)) != size {
		return nil, bad("delta makes %d bytes and names %d", len(out), size)
	}
	return out, nil
}

// instruction returns the bytes that the first instruction of delta stands for.
func instruction(base, delta []byte) (piece, rest []byte, err error) {
	op := delta[0]
	delta = delta[1:]
	if op == 0 {
		return nil, nil, bad("delta with instruction 0")
	}
	if op < 0x80 { // so many bytes, as they are
		if int(op) > len(delta) {
			return nil, nil, bad("delta that is cut short")
		}
		return delta[:op], delta[op:], nil
	}
	var offset, size int64 // from the base; op says which bytes of the two are given
	for i := range 7 {
		if op&(1<<i) == 0 {
			continue
		}
		if len(delta) == 0 {
			return nil, nil, bad("delta that is cut short")
		}
		if i < 4 {
			offset |= int64(delta[0]) << (8 * i)
		} else {
			size |= int64(delta[0]) << (8 * (i - 4))
		}
		delta = delta[1:]
	}
	if size == 0 {
		size = 0x10000
	}
	if offset+size > int64(len(base)) {
		return nil, nil, bad("delta copies past the end of its base")
	}
	return base[offset : offset+size], delta, nil
}

// maxGroups is how many groups of seven bits a size has at most: four terabytes are more
// than any object.
const maxGroups = 6

// deltaSize reads a size in groups of seven bits, the lowest first.
func deltaSize(b []byte) (int64, []byte, error) {
	var n int64
	for i := 0; i < len(b) && i < maxGroups; i++ {
		n |= int64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			return n, b[i+1:], nil
		}
	}
	return 0, nil, bad("delta without a size")
}

// added returns what a delta adds to its base, with a line end where something of the
// base comes between. It stops where the delta is not well formed.
func added(delta []byte) []byte {
	for range 2 {
		var err error
		if _, delta, err = deltaSize(delta); err != nil {
			return nil
		}
	}
	var out []byte
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		if op < 0x80 {
			n := min(int(op), len(delta))
			out, delta = append(out, delta[:n]...), delta[n:]
			continue
		}
		out = append(out, '\n')
		delta = delta[min(bits.OnesCount8(op&0x7f), len(delta)):]
	}
	return out
}
