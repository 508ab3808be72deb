package hostexec

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// disguise are the characters that change how other text looks or that cannot be
// seen at all and spell whole sentences: those of writing direction, and tags.
func disguise(r rune) bool {
	return r == 0x61c || 0x200e <= r && r <= 0x200f || 0x202a <= r && r <= 0x202e || 0x2066 <= r && r <= 0x2069 ||
		0xe0001 <= r && r <= 0xe007f || 0xe0100 <= r && r <= 0xe01ef
}

// ignorableOrControl are all characters that an agent reads and nobody sees.
// U+FE0F and U+200D are parts of ordinary emoji.
func ignorableOrControl(r rune) bool {
	switch {
	case r == 0xfe0f, r == 0x200d, r == '\t', r == '\r':
		return false
	}
	return ignorable(r) || r < ' ' || 0x7f <= r && r < 0xa0
}

// hidden reports the first new line of a text that has such characters in it. That
// a line is new means that it stands nowhere in the old text.
func hidden(old, new []byte, bad func(rune) bool, f Finding) []Finding {
	if bytes.IndexByte(new, 0) >= 0 {
		return nil // not a text
	}
	var known map[string]bool
	count := 0
	var first rune
	for n := 1; len(new) > 0; n++ {
		line, rest, _ := bytes.Cut(new, []byte{'\n'})
		new = rest
		r, ok := anyRune(line, bad)
		if !ok {
			continue
		}
		if known == nil {
			known = linesOf(old)
		}
		if known[string(line)] {
			continue
		}
		if count++; count == 1 {
			f.Line, first = n, r
		}
	}
	if count == 0 {
		return nil
	}
	f.Why += fmt.Sprintf(" (%U; lines: %d)", first, count)
	return []Finding{f}
}

func linesOf(text []byte) map[string]bool {
	out := map[string]bool{}
	for line := range bytes.SplitSeq(text, []byte{'\n'}) {
		out[string(line)] = true
	}
	return out
}

func anyRune(line []byte, bad func(rune) bool) (rune, bool) {
	for i := 0; i < len(line); {
		r, n := rune(line[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(line[i:])
		} else if r >= ' ' && r < 0x7f {
			i++
			continue
		}
		if bad(r) && !(i == 0 && r == 0xfeff) {
			return r, true
		}
		i += n
	}
	return 0, false
}
