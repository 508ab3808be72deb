package object

import (
	"context"
	"crypto/sha1"
	"fmt"
	"io"
	"slices"
)

// PackLimits bound what a pack may cost.
type PackLimits struct {
	Objects int   // in the pack; each costs some eighty bytes of memory
	Object  int64 // bytes of one commit, tree or tag
	Memory  int64 // bytes of objects that are held at once to rebuild others
	Work    int64 // bytes inflated and rebuilt in all

	// Text is called with each blob of at most so many bytes, and with what each delta
	// of at most so many bytes adds to its base; nil: with none. An error ends the reading.
	Text     func(data []byte) error
	TextSize int64
}

// UsualLimits are limits that a day's work never meets.
func UsualLimits() PackLimits {
	return PackLimits{Objects: 1 << 20, Object: 16 << 20, Memory: 64 << 20, Work: 16 << 30}
}

// Visit is called with each commit, tree and tag of a pack, in no order that
// means anything. data is good until it returns.
type Visit func(id ID, t Type, data []byte) error

// Pack is a pack that has been read.
type Pack struct {
	ctx   context.Context
	lim   PackLimits
	visit Visit
	r     io.ReaderAt
	size  int64
	zip   inflater
	work  int64

	objects []object
	kid     []int32        // the first object that is a delta to this one, by offset; -1: none
	next    []int32        // the next one with the same base
	wait    map[ID][]int32 // deltas whose base is known by name and not yet seen
}

// object is an entry of the pack.
type object struct {
	start int64 // where it begins
	data  int64 // where its compressed bytes begin
	size  int64 // inflated
	base  int32 // of a delta by offset
	kind  byte  // a number of packTypes, ofsDelta or refDelta
	id    ID    // of a delta: its base, if known by name
}

const hashSize = sha1.Size

// ReadPack reads the pack that is the first size bytes of r, no more and no less, and
// calls visit with what can be rebuilt. Both r and visit are used by Add as well.
// The context's end ends the reading.
func ReadPack(ctx context.Context, r io.ReaderAt, size int64, lim PackLimits, visit Visit) (*Pack, error) {
	p := &Pack{ctx: ctx, lim: lim, visit: visit, r: r, size: size, wait: map[ID][]int32{}}
	count, err := p.head()
	if err != nil {
		return nil, err
	}
	if err := p.trailer(); err != nil {
		return nil, err
	}
	if err := p.scan(count); err != nil {
		return nil, err
	}
	p.link()
	if err := p.rebuild(); err != nil {
		return nil, err
	}
	return p, nil
}

// Len is how many objects the pack has, blobs too.
func (p *Pack) Len() int { return len(p.objects) }

// head returns how many objects the pack says it has. Each takes three bytes at
// the very least, so the number is bounded by the size as well.
func (p *Pack) head() (int, error) {
	if p.size < packHeader+hashSize {
		return 0, bad("pack of %d bytes", p.size)
	}
	var h [packHeader]byte
	if _, err := p.r.ReadAt(h[:], 0); err != nil {
		return 0, fmt.Errorf("read pack: %w", err)
	}
	n, err := PackCount(h[:])
	if err != nil {
		return 0, err
	}
	if int64(n) > int64(p.lim.Objects) || int64(n) > p.size/3 {
		return 0, bad("pack of %d objects in %d bytes, %d objects are the most", n, p.size, p.lim.Objects)
	}
	return int(n), nil
}

// PackCount reads the first twelve bytes of a pack: how many objects it says it has.
func PackCount(head []byte) (uint32, error) {
	if len(head) < packHeader || string(head[:8]) != "PACK\x00\x00\x00\x02" {
		return 0, bad("no pack of version 2")
	}
	return uint32(head[8])<<24 | uint32(head[9])<<16 | uint32(head[10])<<8 | uint32(head[11]), nil
}

// trailer checks the sum over all that is before it.
func (p *Pack) trailer() error {
	h := sha1.New()
	if _, err := io.Copy(h, io.NewSectionReader(p.r, 0, p.size-hashSize)); err != nil {
		return fmt.Errorf("read pack: %w", err)
	}
	var sum [hashSize]byte
	if n, err := p.r.ReadAt(sum[:], p.size-hashSize); n < hashSize {
		return fmt.Errorf("read pack: %w", err)
	}
	if sum != [hashSize]byte(h.Sum(nil)) {
		return bad("pack whose checksum is wrong")
	}
	return nil
}

// link finds for every object the deltas that stand on it.
func (p *Pack) link() {
	p.kid, p.next = make([]int32, len(p.objects)), make([]int32, len(p.objects))
	for i := range p.kid {
		p.kid[i], p.next[i] = -1, -1
	}
	for i, o := range p.objects {
		switch o.kind {
		case ofsDelta:
			p.next[i], p.kid[o.base] = p.kid[o.base], int32(i)
		case refDelta:
			p.wait[o.id] = append(p.wait[o.id], int32(i))
		}
	}
}

// kids are the deltas that stand on object i, whose name is id; i is -1 for an
// object from elsewhere. Those that wait for the name wait no longer.
func (p *Pack) kids(i int32, id ID) []int32 {
	out := p.wait[id]
	delete(p.wait, id)
	if i >= 0 {
		for k := p.kid[i]; k >= 0; k = p.next[k] {
			out = append(out, k)
		}
	}
	return out
}

// rebuild visits the deltas that stand on objects of this pack.
func (p *Pack) rebuild() error {
	for i, o := range p.objects {
		if o.kind == ofsDelta || o.kind == refDelta {
			continue
		}
		kids := p.kids(int32(i), o.id)
		if packTypes[o.kind] == Blob || len(kids) == 0 {
			continue
		}
		data, err := p.inflate(int32(i))
		if err != nil {
			return err
		}
		if err := p.descend(packTypes[o.kind], data, kids); err != nil {
			return err
		}
	}
	return nil
}

// Missing names the objects that deltas stand on and that the pack has not got.
// Names of blobs are among them.
func (p *Pack) Missing() []ID {
	out := make([]ID, 0, len(p.wait))
	for id := range p.wait {
		out = append(out, id)
	}
	slices.SortFunc(out, func(a, b ID) int { return slices.Compare(a.Bytes(), b.Bytes()) })
	return out
}

// Add takes an object from elsewhere and visits the deltas that stand on it. It
// is not visited itself.
func (p *Pack) Add(t Type, data []byte) error {
	kids := p.kids(-1, Sum(t, data))
	if t == Blob || len(kids) == 0 {
		return nil
	}
	return p.descend(t, data, kids)
}

// frame is an object that others stand on and are yet to be rebuilt from.
type frame struct {
	data []byte
	kids []int32
}

// descend rebuilds and visits all that stands on one object, deltas on deltas
// included. An object is let go with the last that needs it, so the usual long
// chain holds two at a time.
func (p *Pack) descend(t Type, data []byte, kids []int32) error {
	stack, held := []frame{{data, kids}}, int64(len(data))
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		base, k := top.data, top.kids[0]
		if top.kids = top.kids[1:]; len(top.kids) == 0 {
			held -= int64(len(base))
			stack = stack[:len(stack)-1]
		}
		delta, err := p.inflate(k)
		if err != nil {
			return err
		}
		data, err := apply(base, delta, p.lim.Object)
		if err != nil {
			return err
		}
		if err := p.spend(int64(len(data))); err != nil {
			return err
		}
		id := Sum(t, data)
		if err := p.visit(id, t, data); err != nil {
			return err
		}
		kids := p.kids(k, id)
		if len(kids) == 0 {
			continue
		}
		if held += int64(len(data)); held > p.lim.Memory {
			return bad("pack whose deltas need more than %d bytes at once", p.lim.Memory)
		}
		stack = append(stack, frame{data, kids})
	}
	return nil
}

// spend counts work.
func (p *Pack) spend(n int64) error {
	if p.work += n; p.work > p.lim.Work {
		return bad("pack that takes more than %d bytes of work", p.lim.Work)
	}
	return p.ctx.Err()
}
