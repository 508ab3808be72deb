package object

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
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
	z, err := zlib.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	var out bytes.Buffer // grows with what is there, not with what was claimed
	n, err := io.Copy(&out, io.LimitReader(z, size+1))
	if err != nil {
		return nil, fmt.Errorf("inflate: %w", err)
	}
	if n != size {
		return nil, errors.New("inflate: not of the size that was told")
	}
	return out.Bytes(), nil
}

var errDelta = errors.New("malformed delta")

// applyDelta makes an object from its base: a delta tells both sizes, then what
// to copy from the base and what to insert.
func applyDelta(base, delta []byte, b *budget) ([]byte, error) {
	from, delta, ok := deltaSize(delta)
	to, delta, ok2 := deltaSize(delta)
	if !ok || !ok2 || from != int64(len(base)) {
		return nil, errDelta
	}
	if err := b.take(to); err != nil {
		return nil, err
	}
	var out []byte
	for len(delta) > 0 {
		op := delta[0]
		delta = delta[1:]
		var piece []byte
		switch {
		case op == 0:
			return nil, errDelta
		case op < 0x80:
			if int(op) > len(delta) {
				return nil, errDelta
			}
			piece, delta = delta[:op], delta[op:]
		default:
			if piece, delta, ok = copied(base, op, delta); !ok {
				return nil, errDelta
			}
		}
		if int64(len(out)+len(piece)) > to {
			return nil, errDelta
		}
		out = append(out, piece...)
	}
	if int64(len(out)) != to {
		return nil, errDelta
	}
	return out, nil
}

// copied reads where to copy from and how much: op says which bytes of the two
// numbers are there.
func copied(base []byte, op byte, delta []byte) (piece, rest []byte, ok bool) {
	var n [7]byte
	for i := range n {
		if op&(1<<i) == 0 {
			continue
		}
		if len(delta) == 0 {
			return nil, nil, false
		}
		n[i], delta = delta[0], delta[1:]
	}
	at := int64(n[0]) | int64(n[1])<<8 | int64(n[2])<<16 | int64(n[3])<<24
	size := int64(n[4]) | int64(n[5])<<8 | int64(n[6])<<16
	if size == 0 {
		size = 1 << 16
	}
	if at+size > int64(len(base)) {
		return nil, nil, false
	}
	return base[at : at+size], delta, true
}

func deltaSize(b []byte) (n int64, rest []byte, ok bool) {
	for i := 0; i < len(b) && i < 6; i++ {
		n |= int64(b[i]&0x7f) << (7 * i)
		if b[i]&0x80 == 0 {
			return n, b[i+1:], true
		}
	}
	return 0, nil, false
}
