package seccomp

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// insn is struct sock_filter.
type insn struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// The instructions used, as BPF_class|BPF_size|BPF_mode of linux/bpf_common.h.
const (
	opLoad = 0x20 // A = word at k of struct seccomp_data
	opAnd  = 0x54 // A &= k
	opJump = 0x05 // skip k
	opJeq  = 0x15 // A == k: skip jt, else skip jf
	opJge  = 0x35 // A >= k, unsigned
	opRet  = 0x06
)

// Offsets into struct seccomp_data. An argument's low half comes first, both
// architectures being little-endian; the high half is never looked at.
const (
	offNumber = 0
	offArch   = 4
	offArgs   = 16
)

// span is a run of numbers with one outcome; it ends where the next begins.
type span struct {
	first  uint32
	family *family
}

// unjudged stands for every number that the table does not name, unwatched for
// every one that the keeper has no interest in.
var unjudged, unwatched = family{verdict: absent}, family{verdict: allow}

// spansOf lays a table out by number, from 0 to the end of the number space; what
// it does not name is other.
func spansOf(goarch string, table []family, other *family) ([]span, error) {
	var byNumber [maxNumber + 1]*family
	for i := range table {
		for name := range strings.FieldsSeq(table[i].calls) {
			nr, ok := callNumber(goarch, name)
			if !ok {
				return nil, fmt.Errorf("seccomp: table names unknown syscall %q", name)
			}
			if nr != none {
				byNumber[nr] = &table[i]
			}
		}
	}
	outcome := func(f *family) *family {
		if f == nil {
			return other
		}
		return f
	}
	spans := []span{{0, outcome(byNumber[0])}}
	for nr, f := range byNumber[1:] {
		if f := outcome(f); !sameOutcome(f, spans[len(spans)-1].family) {
			spans = append(spans, span{uint32(nr + 1), f})
		}
	}
	return append(spans, span{maxNumber + 1, other}), nil
}

func sameOutcome(a, b *family) bool {
	return a == b || a.rules == nil && b.rules == nil && a.verdict.plain() == b.verdict.plain()
}

// compile puts the architecture first, because a number means nothing without
// it: i386 code runs on amd64 with numbers of its own (int 0x80, from a 64-bit
// process too). The x32 calls of amd64 share its architecture and differ by bit
// 30 of the number; they lie beyond the last span's first number: ENOSYS, as on
// a kernel built without them.
func compile(audit uint32, spans []span) []insn {
	return append([]insn{
		{code: opLoad, k: offArch},
		{code: opJeq, k: audit, jt: 1},
		{code: opRet, k: uint32(kill)},
		{code: opLoad, k: offNumber},
	}, search(spans)...)
}

// search is a binary search for the number in A. Every leaf returns, so code
// never runs on from one half into the other. Leaves without rules look at
// nothing but number and architecture, which lets the kernel remember
// always-allowed calls and not run the program for them at all.
func search(spans []span) []insn {
	if len(spans) == 1 {
		return spans[0].family.code()
	}
	mid := len(spans) / 2
	below, above := search(spans[:mid]), search(spans[mid:])
	code := []insn{{code: opJge, k: spans[mid].first, jt: uint8(len(below))}}
	if len(below) > 255 { // farther than a conditional jump reaches
		code = []insn{
			{code: opJge, k: spans[mid].first, jf: 1},
			{code: opJump, k: uint32(len(below))},
		}
	}
	return slices.Concat(code, below, above)
}

// code tries the rules in order; the first of which every match holds decides,
// and the family's verdict where none does.
func (f *family) code() []insn {
	var code []insn
	for _, r := range f.rules {
		body := []insn{{code: opRet, k: uint32(r.then.plain())}}
		for _, m := range slices.Backward(r.when) {
			body = append(m.code(len(body)), body...)
		}
		code = append(code, body...)
	}
	return append(code, insn{code: opRet, k: uint32(f.verdict.plain())})
}

// code runs on if the match holds and skips the next rest instructions if not.
func (m match) code(rest int) []insn {
	code := []insn{{code: opLoad, k: uint32(offArgs + 8*m.arg)}}
	if m.mask != all {
		code = append(code, insn{code: opAnd, k: m.mask})
	}
	for i, v := range m.in {
		code = append(code, insn{code: opJeq, k: v, jt: uint8(len(m.in) - i)})
	}
	return append(code, insn{code: opJump, k: uint32(rest)})
}

func encode(code []insn) []byte {
	raw := make([]byte, 0, 8*len(code))
	for _, i := range code {
		raw = binary.LittleEndian.AppendUint16(raw, i.code)
		raw = append(raw, i.jt, i.jf)
		raw = binary.LittleEndian.AppendUint32(raw, i.k)
	}
	return raw
}
