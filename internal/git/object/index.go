package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	fanOut    = 8 // where the fan-out table starts
	fanOutEnd = fanOut + 256*4
	maxInPack = 1 << 28 // objects
)

var errIndex = errors.New("not a pack index of version 2")

// index is a pack index of version 2: a table of how many ids start with a byte
// or a lower one, the ids in order, their CRCs, 31-bit offsets into the pack, and
// those offsets that need more. It is read where it lies.
type index struct {
	r     io.ReaderAt
	size  int64 // of the file
	width int64 // of an id
	count int64
}

// openIndex reads the frame of an index whose ids have width bytes.
func openIndex(r io.ReaderAt, size int64, width int) (*index, error) {
	x := &index{r: r, size: size, width: int64(width)}
	var head [8]byte
	if err := x.read(head[:], 0); err != nil {
		return nil, err
	}
	if !bytes.Equal(head[:], []byte("\xfftOc\x00\x00\x00\x02")) {
		return nil, errIndex
	}
	n, err := x.uint32(fanOutEnd - 4)
	if err != nil {
		return nil, err
	}
	x.count = int64(n)
	// Two checksums end the file; before them stand large offsets, 8 bytes each
	// and at most one an object.
	large := size - x.offsets() - 4*x.count - 2*x.width
	if x.count > maxInPack || large < 0 || large%8 != 0 || large > 8*x.count {
		return nil, errIndex
	}
	return x, nil
}

// Indexed reports whether the index of a pack, of size bytes, lists an object. One that
// cannot be read lists none.
func Indexed(r io.ReaderAt, size int64, name string) bool {
	id, err := ParseID(name)
	if err != nil {
		return false
	}
	x, err := openIndex(r, size, int(id.size))
	if err != nil {
		return false
	}
	_, ok, err := x.find(id)
	return ok && err == nil
}

func (x *index) names() int64   { return fanOutEnd }
func (x *index) offsets() int64 { return x.names() + x.count*(x.width+4) }

// find returns where in the pack the object is.
func (x *index) find(id ID) (offset int64, ok bool, err error) {
	lo, hi, err := x.bucket(id.raw[0])
	if err != nil {
		return 0, false, err
	}
	name := make([]byte, x.width)
	for lo < hi {
		mid := lo + (hi-lo)/2
		if err := x.read(name, x.names()+mid*x.width); err != nil {
			return 0, false, err
		}
		switch c := bytes.Compare(id.Bytes(), name); {
		case c == 0:
			offset, err := x.offset(mid)
			return offset, err == nil, err
		case c < 0:
			hi = mid
		default:
			lo = mid + 1
		}
	}
	return 0, false, nil
}

// bucket returns the range of ids that start with b.
func (x *index) bucket(b byte) (lo, hi int64, err error) {
	if b > 0 {
		n, err := x.uint32(fanOut + 4*(int64(b)-1))
		if err != nil {
			return 0, 0, err
		}
		lo = int64(n)
	}
	n, err := x.uint32(fanOut + 4*int64(b))
	if err != nil {
		return 0, 0, err
	}
	hi = int64(n)
	if lo > hi || hi > x.count {
		return 0, 0, errIndex
	}
	return lo, hi, nil
}

func (x *index) offset(n int64) (int64, error) {
	small, err := x.uint32(x.offsets() + 4*n)
	if err != nil || small < 1<<31 {
		return int64(small), err
	}
	at := x.offsets() + 4*x.count + 8*int64(small&(1<<31-1))
	if at > x.size-2*x.width-8 {
		return 0, errIndex
	}
	var b [8]byte
	if err := x.read(b[:], at); err != nil {
		return 0, err
	}
	large := binary.BigEndian.Uint64(b[:])
	if large >= 1<<62 {
		return 0, errIndex
	}
	return int64(large), nil
}

func (x *index) uint32(at int64) (uint32, error) {
	var b [4]byte
	err := x.read(b[:], at)
	return binary.BigEndian.Uint32(b[:]), err
}

func (x *index) read(b []byte, at int64) error {
	if at < 0 || at > x.size-int64(len(b)) {
		return errIndex
	}
	if n, err := x.r.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("read pack index: %w", err)
	}
	return nil
}
