package object

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/zlib"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io"
	"sort"
)

// scan reads the pack from front to end, once. Objects that stand on their own
// are named and visited, deltas are noted.
func (p *Pack) scan(count int) error {
	src := newSource(p.r, packHeader, p.size-hashSize)
	p.objects = make([]object, 0, count)
	for range count {
		o, err := p.header(src)
		if err != nil {
			return err
		}
		if err := p.body(src, &o); err != nil {
			return err
		}
		p.objects = append(p.objects, o)
	}
	if src.at != p.size-hashSize {
		return bad("pack with %d bytes after its last object", p.size-hashSize-src.at)
	}
	return nil
}

// header reads what stands before an object's compressed bytes.
func (p *Pack) header(src *source) (object, error) {
	o := object{start: src.at, base: -1}
	var err error
	if o.kind, o.size, err = entryHead(src); err != nil {
		return o, cut(err)
	}
	t, whole := packTypes[o.kind]
	switch {
	case whole && t != Blob && o.size > p.lim.Object:
		return o, bad("%v of %d bytes, %d are the most", t, o.size, p.lim.Object)
	case whole:
	case o.kind == ofsDelta:
		o.base, err = p.baseAt(src, o.start)
	case o.kind == refDelta:
		var raw [hashSize]byte
		_, err = io.ReadFull(src, raw[:])
		o.id = idFrom(raw[:], hashSize)
	default:
		return o, bad("pack with an object of type %d", o.kind)
	}
	o.data = src.at
	return o, cut(err)
}

// baseAt reads how far before start the base begins, and finds it there.
func (p *Pack) baseAt(src *source, start int64) (int32, error) {
	back, err := distance(src)
	if err != nil {
		return 0, err
	}
	i := sort.Search(len(p.objects), func(i int) bool { return p.objects[i].start >= start-back })
	if i == len(p.objects) || p.objects[i].start != start-back {
		return 0, bad("pack with a delta that stands on no object")
	}
	return int32(i), nil
}

// body inflates an object to its end: that is the only way to find the next one.
func (p *Pack) body(src *source, o *object) error {
	switch t := packTypes[o.kind]; t {
	case Commit, Tree, Tag:
		data, err := p.zip.bytes(src, o.size)
		if err != nil {
			return err
		}
		if err := p.spend(o.size); err != nil {
			return err
		}
		o.id = Sum(t, data)
		return p.visit(o.id, t, data)
	case Blob:
		if p.lim.Text != nil && o.size <= p.lim.TextSize {
			data, err := p.text(src, o)
			if err != nil {
				return err
			}
			o.id = Sum(Blob, data)
			return p.lim.Text(data)
		}
		h := sha1.New()
		fmt.Fprintf(h, "%s %d\x00", Blob, o.size)
		if err := p.pass(src, o.size, h); err != nil {
			return err
		}
		o.id = idFrom(h.Sum(nil), hashSize)
		return nil
	default:
		if p.lim.Text != nil && o.size <= p.lim.TextSize {
			delta, err := p.text(src, o)
			if err != nil {
				return err
			}
			return p.lim.Text(added(delta))
		}
		return p.pass(src, o.size, nil)
	}
}

// text reads an object whole.
func (p *Pack) text(src *source, o *object) ([]byte, error) {
	data, err := p.zip.bytes(src, o.size)
	if err != nil {
		return nil, err
	}
	return data, p.spend(o.size)
}

// pass reads over size bytes, in pieces, and sums them if there is a sum to make.
func (p *Pack) pass(src *source, size int64, sum hash.Hash) error {
	return p.zip.each(src, size, func(piece []byte) error {
		if sum != nil {
			sum.Write(piece)
		}
		return p.spend(int64(len(piece)))
	})
}

// inflate returns the bytes of object i, a second time.
func (p *Pack) inflate(i int32) ([]byte, error) {
	o := p.objects[i]
	if o.size > p.lim.Object {
		return nil, bad("delta of %d bytes, %d are the most", o.size, p.lim.Object)
	}
	if err := p.spend(o.size); err != nil {
		return nil, err
	}
	return p.zip.bytes(newSource(p.r, o.data, p.size-hashSize), o.size)
}

// source reads a range of the pack and knows where it is. It has ReadByte, so
// that inflating takes no byte that is not its own.
type source struct {
	b  *bufio.Reader
	at int64
}

func newSource(r io.ReaderAt, from, to int64) *source {
	return &source{bufio.NewReader(io.NewSectionReader(r, from, to-from)), from}
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.b.Read(p)
	s.at += int64(n)
	return n, err
}

func (s *source) ReadByte() (byte, error) {
	c, err := s.b.ReadByte()
	if err == nil {
		s.at++
	}
	return c, err
}

// inflater holds what inflating one object after the other can share. What it reads from
// has ReadByte, or it would take bytes that are not its own.
type inflater struct {
	z   io.ReadCloser
	buf []byte
}

// each hands size bytes to do, in pieces. More or fewer are an error.
func (f *inflater) each(src io.Reader, size int64, do func([]byte) error) error {
	if err := f.reset(src); err != nil {
		return cut(err)
	}
	if f.buf == nil {
		f.buf = make([]byte, 32<<10)
	}
	var n int64
	for {
		m, err := f.z.Read(f.buf)
		if n += int64(m); n > size {
			return bad("pack with an object that is longer than the %d bytes it names", size)
		}
		if m > 0 {
			if err := do(f.buf[:m]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return cut(err)
		}
	}
	if n != size {
		return bad("pack with an object of %d bytes that names %d", n, size)
	}
	return nil
}

// bytes returns size bytes. They are asked for as they come: the number alone
// takes no memory.
func (f *inflater) bytes(src io.Reader, size int64) ([]byte, error) {
	var out bytes.Buffer
	out.Grow(int(min(size, 64<<10)))
	err := f.each(src, size, func(piece []byte) error {
		out.Write(piece)
		return nil
	})
	return out.Bytes(), err
}

func (f *inflater) reset(src io.Reader) error {
	if f.z == nil {
		z, err := zlib.NewReader(src)
		f.z = z
		if err != nil {
			f.z = nil
		}
		return err
	}
	return f.z.(zlib.Resetter).Reset(src, nil)
}

// cut turns errors of the bytes into ours. Those of the disk stay what they are.
func cut(err error) error {
	switch {
	case err == nil, errors.Is(err, ErrFormat):
		return err
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return bad("pack that is cut short")
	case errors.Is(err, zlib.ErrHeader), errors.Is(err, zlib.ErrChecksum), errors.Is(err, zlib.ErrDictionary):
		return bad("pack with an object that does not inflate: %v", err)
	}
	if corrupt := flate.CorruptInputError(0); errors.As(err, &corrupt) {
		return bad("pack with an object that does not inflate: %v", err)
	}
	return fmt.Errorf("read pack: %w", err)
}
