package object

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

const (
	packHeader = 12
	maxDepth   = 4096 // of a chain of deltas: git's own limit
)

var errPack = errors.New("not an object of a pack")

// packFile is a pack of a store, with its index.
type packFile struct {
	index *index
	r     io.ReaderAt
	size  int64
}

// Kinds of entry in a pack.
const (
	ofsDelta = 6 // against the entry that starts so many bytes before
	refDelta = 7 // against the object of that id
)

var packTypes = map[byte]Type{1: Commit, 2: Tree, 3: Blob, 4: Tag}

// entry is what stands at one place of a pack: an object, or a delta and where
// its base is.
type entry struct {
	kind byte
	data []byte
	base int64
}

// object returns the object at offset, put together from its deltas.
func (p *packFile) object(offset int64, b *budget) (Type, []byte, error) {
	var deltas [][]byte
	for range maxDepth {
		e, err := p.entry(offset, b)
		if err != nil {
			return "", nil, err
		}
		if t, whole := packTypes[e.kind]; whole {
			content, err := assemble(e.data, deltas, b)
			return t, content, err
		}
		deltas = append(deltas, e.data)
		offset = e.base
	}
	return "", nil, fmt.Errorf("chain of more than %d deltas", maxDepth)
}

// assemble applies deltas to base, the last one first.
func assemble(base []byte, deltas [][]byte, b *budget) ([]byte, error) {
	for i := len(deltas) - 1; i >= 0; i-- {
		var err error
		if base, err = applyDelta(base, deltas[i], b); err != nil {
			return nil, err
		}
	}
	return base, nil
}

func (p *packFile) entry(offset int64, b *budget) (entry, error) {
	if offset < packHeader || offset >= p.size {
		return entry{}, errPack
	}
	r := bufio.NewReaderSize(io.NewSectionReader(p.r, offset, p.size-offset), 4<<10)
	kind, size, err := entryHead(r)
	if err != nil {
		return entry{}, err
	}
	e := entry{kind: kind}
	switch kind {
	case ofsDelta:
		var back int64
		if back, err = distance(r); err == nil && back >= offset {
			err = errPack
		}
		e.base = offset - back
	case refDelta:
		e.base, err = p.baseByID(r)
	default:
		if packTypes[kind] == "" {
			err = errPack
		}
	}
	if err != nil {
		return entry{}, err
	}
	e.data, err = inflate(r, size, b)
	return e, err
}

func (p *packFile) baseByID(r io.Reader) (int64, error) {
	raw := make([]byte, p.index.width)
	if _, err := io.ReadFull(r, raw); err != nil {
		return 0, errPack
	}
	offset, ok, err := p.index.find(idFrom(raw, len(raw)))
	if err == nil && !ok {
		err = errPack
	}
	return offset, err
}

// entryHead reads the kind of an entry and its size when inflated: four bits of
// it in the first byte, then seven in each. Half a terabyte is the most.
func entryHead(r io.ByteReader) (kind byte, size int64, err error) {
	c, err := r.ReadByte()
	if err != nil {
		return 0, 0, err
	}
	kind, size = c>>4&7, int64(c&15)
	for shift := 4; c >= 0x80; shift += 7 {
		if c, err = r.ReadByte(); err != nil {
			return 0, 0, err
		}
		if shift > 32 {
			return 0, 0, bad("pack with an object whose size has too many digits")
		}
		size |= int64(c&0x7f) << shift
	}
	return kind, size, nil
}

// distance reads how far back a base lies. Each further byte adds one, so that
// every number has one form. It is never 0.
func distance(r io.ByteReader) (int64, error) {
	var n int64
	for range 8 {
		c, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if n |= int64(c & 0x7f); c < 0x80 {
			if n == 0 {
				return 0, bad("pack with a delta that stands on no object")
			}
			return n, nil
		}
		n = (n + 1) << 7
	}
	return 0, bad("pack with an offset that has too many digits")
}
