package change

import (
	"slices"
	"sort"
)

// What one comparison may cost. The trace of Myers' search grows with the square
// of the differences; maxDiffs bounds it to a few megabytes. maxWork bounds the
// comparisons of all parts of a text together.
const (
	maxDiffs = 1 << 10
	maxWork  = 1 << 26
)

// hunk is one difference: a[a0:a1] became b[b0:b1].
type hunk struct{ a0, a1, b0, b1 int }

// differ compares two texts of numbered lines.
type differ struct {
	a, b  []int32
	work  int
	hunks []hunk
}

// diff returns the differences in order. They never touch one another.
func diff(a, b []int32) []hunk {
	d := &differ{a: a, b: b, work: maxWork}
	d.part(hunk{0, len(a), 0, len(b)})
	return d.hunks
}

// part compares one part of both texts: exactly if that is cheap, else between
// lines that both have exactly once, else as one difference.
func (d *differ) part(h hunk) {
	for h.a0 < h.a1 && h.b0 < h.b1 && d.a[h.a0] == d.b[h.b0] {
		h.a0, h.b0 = h.a0+1, h.b0+1
	}
	for h.a0 < h.a1 && h.b0 < h.b1 && d.a[h.a1-1] == d.b[h.b1-1] {
		h.a1, h.b1 = h.a1-1, h.b1-1
	}
	if h.a0 == h.a1 || h.b0 == h.b1 {
		d.add(h)
		return
	}
	if d.myers(h) {
		return
	}
	d.work -= h.a1 - h.a0 + h.b1 - h.b0
	if d.work <= 0 {
		d.add(h)
		return
	}
	anchors := d.anchors(h)
	if len(anchors) == 0 {
		d.add(h)
		return
	}
	for _, at := range anchors {
		d.part(hunk{h.a0, at.a0, h.b0, at.b0})
		h.a0, h.b0 = at.a0+1, at.b0+1
	}
	d.part(h)
}

// add appends a difference, and joins it to the last one where they touch.
func (d *differ) add(h hunk) {
	if h.a0 == h.a1 && h.b0 == h.b1 {
		return
	}
	if n := len(d.hunks); n > 0 && d.hunks[n-1].a1 == h.a0 && d.hunks[n-1].b1 == h.b0 {
		d.hunks[n-1].a1, d.hunks[n-1].b1 = h.a1, h.b1
		return
	}
	d.hunks = append(d.hunks, h)
}

// myers finds the shortest script for one part, and reports false if that is more
// work than the bound. It is the greedy search of "An O(ND) Difference Algorithm":
// reach[k] is how far one comes in a on the diagonal k with so many differences.
func (d *differ) myers(h hunk) bool {
	a, b := d.a[h.a0:h.a1], d.b[h.b0:h.b1]
	limit := min(len(a)+len(b), maxDiffs)
	reach := make([]int32, 2*limit+3)
	zero := limit + 1
	var trace [][]int32
	for diffs := 0; diffs <= limit && d.work > 0; diffs++ {
		trace = append(trace, slices.Clone(reach[zero-diffs:zero+diffs+1]))
		for k := -diffs; k <= diffs; k += 2 {
			x := step(reach[zero-diffs-1:zero+diffs+2], diffs+1, diffs, k)
			from := x
			for x < len(a) && x-k < len(b) && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			d.work -= x - from + 1
			reach[zero+k] = int32(x)
			if x >= len(a) && x-k >= len(b) {
				d.walkBack(h, trace, k)
				return true
			}
		}
	}
	return false
}

// step says where diagonal k begins when one more difference is spent: one down
// from the diagonal above or one right from the one below, whichever is further.
func step(reach []int32, zero, diffs, k int) int {
	if k == -diffs || k != diffs && reach[zero+k-1] < reach[zero+k+1] {
		return int(reach[zero+k+1])
	}
	return int(reach[zero+k-1]) + 1
}

// walkBack follows the trace from the end and adds the differences in order.
func (d *differ) walkBack(h hunk, trace [][]int32, k int) {
	var back []hunk
	for diffs := len(trace) - 1; diffs > 0; diffs-- {
		// trace[diffs] is what was known before this round: diagonals -diffs..diffs.
		reach := trace[diffs]
		down := k == -diffs || k != diffs && reach[diffs+k-1] < reach[diffs+k+1]
		if down {
			k++
			x := int(reach[diffs+k])
			back = append(back, hunk{h.a0 + x, h.a0 + x, h.b0 + x - k, h.b0 + x - k + 1})
		} else {
			k--
			x := int(reach[diffs+k])
			back = append(back, hunk{h.a0 + x, h.a0 + x + 1, h.b0 + x - k, h.b0 + x - k})
		}
	}
	for _, one := range slices.Backward(back) {
		d.add(one)
	}
}

// anchors returns lines that both parts have exactly once, in an order that both
// agree on: the longest such row, as in patience diff.
func (d *differ) anchors(h hunk) []hunk {
	type count struct{ inA, inB, at int }
	counts := map[int32]count{}
	for _, line := range d.a[h.a0:h.a1] {
		c := counts[line]
		c.inA++
		counts[line] = c
	}
	for i, line := range d.b[h.b0:h.b1] {
		c := counts[line]
		c.inB, c.at = c.inB+1, h.b0+i
		counts[line] = c
	}
	var both []hunk
	for i, line := range d.a[h.a0:h.a1] {
		if c := counts[line]; c.inA == 1 && c.inB == 1 {
			both = append(both, hunk{a0: h.a0 + i, b0: c.at})
		}
	}
	return rising(both)
}

// rising returns the longest subsequence whose b0 rises, by patience sorting.
func rising(all []hunk) []hunk {
	before := make([]int, len(all))
	var piles []int // index of the smallest end of a row of this length
	for i, one := range all {
		p := sort.Search(len(piles), func(p int) bool { return all[piles[p]].b0 > one.b0 })
		before[i] = -1
		if p > 0 {
			before[i] = piles[p-1]
		}
		if p == len(piles) {
			piles = append(piles, i)
		} else {
			piles[p] = i
		}
	}
	out := make([]hunk, len(piles))
	if len(piles) == 0 {
		return nil
	}
	for i, at := len(piles)-1, piles[len(piles)-1]; at >= 0; i, at = i-1, before[at] {
		out[i] = all[at]
	}
	return out
}
