package strictjson

import (
	"hash/maphash"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is what a value is.
type Kind byte

// The kinds of values.
const (
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
	Number Kind = '0'
	True   Kind = 't'
	False  Kind = 'f'
	Null   Kind = 'n'
)

// Text is a string as it stands in the text, without its quotes. The zero Text
// is an empty string.
type Text struct {
	raw     []byte
	escaped bool
}

// Size is the number of bytes before decoding, which are never fewer than after.
func (t Text) Size() int { return len(t.raw) }

// Hash is of t as it stands there: to know it again, not to compare what it means.
func (t Text) Hash(seed maphash.Seed) uint64 { return maphash.Bytes(seed, t.raw) }

// Append decodes t to the end of dst.
func (t Text) Append(dst []byte) []byte {
	if !t.escaped {
		return append(dst, t.raw...)
	}
	return unescape(dst, t.raw)
}

// String decodes t.
func (t Text) String() string {
	if !t.escaped {
		return string(t.raw)
	}
	return string(unescape(nil, t.raw))
}

// Prefix decodes the beginning of t, at least n bytes of it if it has as many.
func (t Text) Prefix(dst []byte, n int) []byte {
	if !t.escaped {
		return append(dst, t.raw[:min(n, len(t.raw))]...)
	}
	end := 0
	for ; n > 0 && end < len(t.raw); n-- {
		end += stride(t.raw[end:])
	}
	return unescape(dst, t.raw[:end])
}

// Scalar is a value that holds no others.
type Scalar struct {
	Kind Kind
	Text Text // a string; or else the literal, which has no escapes
}

// stride is the length of what stands for one character at the start of raw, or
// for two where a surrogate follows: a pair is never cut.
func stride(raw []byte) int {
	if raw[0] != '\\' {
		return 1
	}
	if raw[1] != 'u' {
		return 2
	}
	if utf16.IsSurrogate(hex4(raw[2:])) {
		return 12
	}
	return 6
}

// unescape decodes what the walk has found to be well-formed.
func unescape(dst, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			dst = append(dst, raw[i])
			i++
			continue
		}
		if raw[i+1] != 'u' {
			dst = append(dst, plain[raw[i+1]])
			i += 2
			continue
		}
		r := hex4(raw[i+2:])
		i += 6
		if utf16.IsSurrogate(r) {
			r = utf16.DecodeRune(r, hex4(raw[i+2:]))
			i += 6
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// plain is what a letter after a backslash stands for; 0 if nothing does.
var plain = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// hex4 reads four digits, which b has; -1 if they are not.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c >= 'a' && c <= 'f':
			c -= 'a' - 10
		case c >= 'A' && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
