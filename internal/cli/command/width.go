package command

import (
	"strings"
	"unicode"
)

// cellWidth is how many cells of a terminal a text takes.
func cellWidth(text string) (n int) {
	_, plain, _ := unpaint(text)
	for _, r := range plain {
		n += runeWidth(r)
	}
	return n
}

// wideSigns are the signs that take two cells: those of East Asia, and pictures.
var wideSigns = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x231a, Hi: 0x231b, Stride: 1}, {Lo: 0x23e9, Hi: 0x23ec, Stride: 1},
		{Lo: 0x2614, Hi: 0x2615, Stride: 1}, {Lo: 0x26a1, Hi: 0x26a1, Stride: 1}, {Lo: 0x2705, Hi: 0x2705, Stride: 1},
		{Lo: 0x274c, Hi: 0x274c, Stride: 1}, {Lo: 0x2753, Hi: 0x2757, Stride: 1}, {Lo: 0x2795, Hi: 0x2797, Stride: 1},
		{Lo: 0x2e80, Hi: 0x303e, Stride: 1}, {Lo: 0x3041, Hi: 0x33ff, Stride: 1}, {Lo: 0x3400, Hi: 0x4dbf, Stride: 1},
		{Lo: 0x4e00, Hi: 0x9fff, Stride: 1}, {Lo: 0xa000, Hi: 0xa4cf, Stride: 1}, {Lo: 0xa960, Hi: 0xa97f, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff00, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x16fe0, Hi: 0x18cff, Stride: 1}, {Lo: 0x1b000, Hi: 0x1b2ff, Stride: 1}, {Lo: 0x1f004, Hi: 0x1f004, Stride: 1},
		{Lo: 0x1f0cf, Hi: 0x1f0cf, Stride: 1}, {Lo: 0x1f18e, Hi: 0x1f19a, Stride: 1}, {Lo: 0x1f1e6, Hi: 0x1f265, Stride: 1},
		{Lo: 0x1f300, Hi: 0x1f64f, Stride: 1}, {Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1}, {Lo: 0x1f7e0, Hi: 0x1f7eb, Stride: 1},
		{Lo: 0x1f900, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

func runeWidth(r rune) int {
	switch {
	case r < 0x300 && r != 0xad: // most of what is ever shown
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wideSigns, r):
		return 2
	}
	return 1
}

// The two ends of painted text.
const (
	paintStart = "\x1b["
	paintEnd   = "\x1b[0m"
)

// paintText puts a colour or weight, a number as terminals know it, on a text.
func paintText(code, text string) string {
	if code == "" || text == "" {
		return text
	}
	return paintStart + code + "m" + text + paintEnd
}

// unpaint takes the paint from a text that is painted as a whole, and from no other.
func unpaint(text string) (before, plain, after string) {
	rest, painted := strings.CutPrefix(text, paintStart)
	code, body, ends := strings.Cut(rest, "m")
	body, whole := strings.CutSuffix(body, paintEnd)
	if !painted || !ends || !whole || code == "" || strings.Trim(code, "0123456789;") != "" || strings.ContainsRune(body, 0x1b) {
		return "", text, ""
	}
	return paintStart + code + "m", body, paintEnd
}

// unpainted is a text without the paint it wears as a whole.
func unpainted(text string) string {
	_, plain, _ := unpaint(text)
	return plain
}
