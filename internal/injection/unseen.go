package injection

import "unicode"

// Invisible holds for characters that people do not see and programs do. Those that have
// a use in some scripts are judged by where they stand: see Unseen.
func Invisible(r rune) bool {
	switch {
	case r < ' ', 0x7f <= r && r < 0xa0 && r != 0x85:
		return true
	case r == 0x200b, r == 0x2060, r == 0xfeff, r == 0x180e, 0x2061 <= r && r <= 0x2064, 0x206a <= r && r <= 0x206f, r == 0x34f, r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0,
		0xe0000 <= r && r <= 0xe0fff, r == 0x2028, r == 0x2029, 0xfff9 <= r && r <= 0xfffb, 0x1d173 <= r && r <= 0x1d17a, r == 0x17b4, r == 0x17b5:
		return true
	}
	return false
}

// What a character does that is not seen.
const (
	Hides = 'h'
	Turns = 't'
)

// Unseen judges the character at i, with those that belong to it. Sequences of
// emoji, joiners in scripts that have them and marks of direction beside a script
// that runs from right to left are as they should be. first is for the first character
// of a text, rtl for a line in which such a script is.
func Unseen(rs []rune, i int, first, rtl bool) (n int, what rune) {
	r := rs[i]
	if i+1 < len(rs) && r == 0x1f3f4 { // a flag that tags spell
		if end := flagEnd(rs, i+1); end > 0 {
			return end - i, 0
		}
	}
	switch {
	case r == '\n', r == '\t', r == '\r', r == '\f':
		return 1, 0
	case r == 0xfeff && first:
		return 1, 0
	case r == 0x202d, r == 0x202e:
		return 1, Turns
	case 0x202a <= r && r <= 0x202c, 0x2066 <= r && r <= 0x2069, r == 0x200e, r == 0x200f, r == 0x61c:
		if rtl {
			return 1, 0
		}
		return 1, Turns
	case r == 0x200c, r == 0x200d:
		if joins(rs, i) {
			return 1, 0
		}
		return 1, Hides
	case isSelector(r):
		if i > 0 && selectable(rs[i-1]) {
			return 1, 0
		}
		return 1, Hides
	case r == 0xad: // where a word may be broken
		if i > 0 && i+1 < len(rs) && unicode.IsLetter(rs[i-1]) && unicode.IsLetter(rs[i+1]) {
			return 1, 0
		}
		return 1, Hides
	case Invisible(r):
		return 1, Hides
	}
	return 1, 0
}

// isSelector holds for characters that choose a shape of the one before.
func isSelector(r rune) bool { return 0xfe00 <= r && r <= 0xfe0f || 0xe0100 <= r && r <= 0xe01ef }

// flagEnd returns where the tags of a flag end: a few lower-case letters and digits,
// then the tag that cancels.
func flagEnd(rs []rune, i int) int {
	for n := i; n < len(rs) && n-i <= 6; n++ {
		r := rs[n]
		if r == 0xe007f && n-i >= 3 {
			return n + 1
		}
		if !(0xe0061 <= r && r <= 0xe007a || 0xe0030 <= r && r <= 0xe0039) {
			return 0
		}
	}
	return 0
}

// joins reports whether a joiner stands between what it is for: emoji, or letters of
// a script whose shapes depend on it.
func joins(rs []rune, i int) bool {
	if i == 0 || i+1 >= len(rs) {
		return false
	}
	before, after := rs[i-1], rs[i+1]
	if rs[i] == 0x200d && (symbol(before) || before == 0xfe0f || 0x1f3fb <= before && before <= 0x1f3ff) && symbol(after) {
		return true
	}
	return shaped(before) && (shaped(after) || unicode.IsSpace(after) || unicode.IsPunct(after))
}

func symbol(r rune) bool {
	return 0x1f000 <= r && r <= 0x1faff || 0x2190 <= r && r <= 0x2bff || 0x3030 <= r && r <= 0x3299
}

func shaped(r rune) bool {
	return unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
		unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Mongolian, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Nko, unicode.Thaana)
}

// selectable: a variation selector behind it chooses a shape.
func selectable(r rune) bool {
	return symbol(r) || unicode.In(r, unicode.Han, unicode.Mongolian, unicode.Myanmar, unicode.Phags_Pa) || 0x2000 <= r && r < 0x2190 && !Invisible(r) && unicode.IsGraphic(r) ||
		r == '#' || r == '*' || '0' <= r && r <= '9' || r == 0xa9 || r == 0xae || 0x2194 <= r && r <= 0x2bff || unicode.Is(unicode.So, r) || unicode.Is(unicode.Sm, r)
}

// RightToLeft holds for a line in which letters of such a script are.
func RightToLeft(rs []rune) bool {
	for _, r := range rs {
		if r >= 0x590 && unicode.IsLetter(r) && unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Samaritan, unicode.Mandaic, unicode.Adlam) {
			return true
		}
	}
	return false
}
