package strictjson

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, of eight bytes, those that are a quote, a backslash, a control
// character or not ASCII, by their highest bits: a zero byte in x^c, or a byte
// below 0x20, borrows into it. What is borrowed may mark bytes that follow, so
// only the lowest mark counts.
func special(x uint64) uint64 {
	quote := x ^ ones*'"'
	slash := x ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*' ')&^x | x) & highs
}

// skip goes on to the next byte that is special, or to the last few of the text.
func (w *walker) skip() {
	for w.at+8 <= len(w.data) {
		if m := special(binary.LittleEndian.Uint64(w.data[w.at:])); m != 0 {
			w.at += bits.TrailingZeros64(m) / 8
			return
		}
		w.at += 8
	}
}

// text reads a string, from its first quote on.
func (w *walker) text() (Text, error) {
	w.at++
	start, ascii, escaped := w.at, true, false
	for {
		w.skip()
		if w.at >= len(w.data) {
			return Text{}, w.bad("a string without an end")
		}
		switch c := w.data[w.at]; {
		case c == '"':
			raw := w.data[start:w.at]
			if !ascii && !utf8.Valid(raw) {
				return Text{}, &Error{start, "a string that is not UTF-8"}
			}
			w.at++
			return Text{raw, escaped}, nil
		case c == '\\':
			escaped = true
			if err := w.escape(); err != nil {
				return Text{}, err
			}
		case c < ' ':
			return Text{}, w.bad("a control character in a string")
		case c < utf8.RuneSelf:
			w.at++
		default:
			ascii = false
			for w.at < len(w.data) && w.data[w.at] >= utf8.RuneSelf {
				w.at++
			}
		}
	}
}

// escape reads one character that is escaped.
func (w *walker) escape() error {
	rest := w.data[w.at:]
	if len(rest) >= 2 && plain[rest[1]] != 0 {
		w.at += 2
		return nil
	}
	r := codeUnit(rest)
	if r < 0 {
		return w.bad("an escape that means nothing")
	}
	if utf16.IsSurrogate(r) {
		rest = rest[6:]
		if utf16.DecodeRune(r, codeUnit(rest)) == utf8.RuneError {
			return w.bad("half of a surrogate pair")
		}
		w.at += 6
	}
	w.at += 6
	return nil
}

// codeUnit reads \uXXXX; -1 if there is none.
func codeUnit(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	return hex4(b[2:])
}
