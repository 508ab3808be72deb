package leakscan

import (
	"encoding/binary"
	"math/bits"
)

// group is how many bytes are looked up at once.
const group = 8

// index answers where a stream may hold a spelling.
type index struct {
	spans  []spelling
	stride int      // from one lookup to the next
	filter []uint64 // one bit for each group, by its hash
	slots  []slot   // open addressing, by the same hash; a power of two
	shift  uint     // from a hash to a bit of the filter
	narrow uint     // from a hash to a slot
}

// slot says that a group stands in a spelling.
type slot struct {
	value uint64
	span  uint32 // counted from 1; 0 is an empty slot
	at    uint32
}

// match is a run of bytes that stream and spelling have in common.
type match struct {
	*spelling
	from, to int // in the stream
}

// newIndex takes spellings to find. If they are to be found whole, it is enough to
// know the groups at their beginnings: one of them meets a lookup, and only one.
func newIndex(spans []spelling, whole bool) *index {
	x := &index{spans: spans}
	if len(spans) == 0 {
		return x
	}
	shortest := Longest
	for i := range spans {
		if whole {
			spans[i].need = len(spans[i].text)
		}
		shortest = min(shortest, spans[i].need)
	}
	x.stride = min(shortest, leastText) - group + 1
	known := func(s spelling) int {
		if whole {
			return x.stride
		}
		return len(s.text) - group + 1
	}
	total := 0
	for _, s := range spans {
		total += known(s)
	}
	x.size(total)
	for i, s := range spans {
		for at := range known(s) {
			x.add(slot{binary.LittleEndian.Uint64([]byte(s.text[at : at+group])), uint32(i + 1), uint32(at)})
		}
	}
	return x
}

// size makes room for so many groups: one bit of the filter in 64 is set at most, and
// one slot in two.
func (x *index) size(groups int) {
	n := uint(max(bits.Len(uint(groups)), 11))
	x.filter, x.shift = make([]uint64, 1<<n), 64-(n+6)
	x.slots, x.narrow = make([]slot, 1<<(n+1)), 64-(n+1)
}

func (x *index) add(s slot) {
	h := hash(s.value)
	bit := h >> x.shift
	x.filter[bit/64] |= 1 << (bit % 64)
	i := h >> x.narrow
	for x.slots[i].span != 0 {
		i = (i + 1) % uint64(len(x.slots))
	}
	x.slots[i] = s
}

// hash spreads a group over the upper bits of a word.
func hash(value uint64) uint64 { return value * 0x9e3779b97f4a7c15 }

// each yields the matches in b. One that more than one lookup meets comes more than
// once.
func (x *index) each(b []byte, yield func(match) bool) {
	if x.stride == 0 {
		return
	}
	filter, shift, stride := x.filter, x.shift&63, x.stride
	for i := 0; i+group <= len(b); i += stride {
		bit := hash(binary.LittleEndian.Uint64(b[i:])) >> shift
		if filter[bit/64]&(1<<(bit%64)) != 0 && !x.compare(b, i, yield) {
			return
		}
	}
}

// compare yields the matches around the group at i.
func (x *index) compare(b []byte, i int, yield func(match) bool) bool {
	value := binary.LittleEndian.Uint64(b[i:])
	for k := hash(value) >> x.narrow; x.slots[k].span != 0; k = (k + 1) % uint64(len(x.slots)) {
		s := &x.slots[k]
		if s.value != value {
			continue
		}
		span := &x.spans[s.span-1]
		from, to := i, i+group
		for at := int(s.at); at > 0 && from > 0 && b[from-1] == span.text[at-1]; at-- {
			from--
		}
		for at := int(s.at) + group; at < len(span.text) && to < len(b) && b[to] == span.text[at]; at++ {
			to++
		}
		if to-from >= span.need && !yield(match{span, from, to}) {
			return false
		}
	}
	return true
}
