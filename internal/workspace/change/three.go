package change

import "bytes"

// Three merges what two sides made of base. ok is false if both changed the same
// lines, or lines that touch, in different ways: then there is no result. Nothing
// is ever marked in a text.
func Three(base, ours, theirs []byte) (merged []byte, ok bool) {
	switch {
	case bytes.Equal(ours, theirs), bytes.Equal(base, theirs):
		return bytes.Clone(ours), true
	case bytes.Equal(base, ours):
		return bytes.Clone(theirs), true
	case !IsText(base) || !IsText(ours) || !IsText(theirs):
		return nil, false
	}
	m := merger{base: lines(base), sides: [2][][]byte{lines(ours), lines(theirs)}}
	numbers := number(m.base, m.sides[0], m.sides[1])
	m.hunks = [2][]hunk{diff(numbers[0], numbers[1]), diff(numbers[0], numbers[2])}
	for len(m.hunks[0]) > 0 || len(m.hunks[1]) > 0 {
		if !m.next() {
			return nil, false
		}
	}
	m.copyBase(len(m.base))
	return m.out, true
}

// merger walks over base and the differences of both sides to it.
type merger struct {
	base  [][]byte
	sides [2][][]byte
	hunks [2][]hunk // what is left
	at    int       // lines of base that are done
	out   []byte
}

func (m *merger) copyBase(to int) {
	m.out = append(m.out, bytes.Join(m.base[m.at:to], nil)...)
	m.at = to
}

// next takes the next region that at least one side changed.
func (m *merger) next() bool {
	from, to, taken := m.region()
	m.copyBase(from)
	m.at = to
	ours, theirs := m.text(0, taken[0], from, to), m.text(1, taken[1], from, to)
	for side := range m.hunks {
		m.hunks[side] = m.hunks[side][taken[side]:]
	}
	switch {
	case taken[1] == 0, bytes.Equal(ours, theirs):
		m.out = append(m.out, ours...)
	case taken[0] == 0:
		m.out = append(m.out, theirs...)
	default:
		return false
	}
	return true
}

// region is the next part of base that differences which overlap or touch cover,
// and how many differences of each side those are.
func (m *merger) region() (from, to int, taken [2]int) {
	from = len(m.base) + 1
	for _, hunks := range m.hunks {
		if len(hunks) > 0 {
			from = min(from, hunks[0].a0)
		}
	}
	to = from
	for grown := true; grown; {
		grown = false
		for side, hunks := range m.hunks {
			for taken[side] < len(hunks) && hunks[taken[side]].a0 <= to {
				to = max(to, hunks[taken[side]].a1)
				taken[side]++
				grown = true
			}
		}
	}
	return from, to, taken
}

// text is what a side made of base[from:to], where n of its differences are.
func (m *merger) text(side, n, from, to int) []byte {
	var out []byte
	at := from
	for _, h := range m.hunks[side][:n] {
		out = append(out, bytes.Join(m.base[at:h.a0], nil)...)
		out = append(out, bytes.Join(m.sides[side][h.b0:h.b1], nil)...)
		at = h.a1
	}
	return append(out, bytes.Join(m.base[at:to], nil)...)
}
