package shell

import (
	"strings"
	"unicode/utf8"
)

// plainEscapes are those of one letter.
const plainEscapes = "a\ab\be\x1bE\x1bf\fn\nr\rt\tv\v\\\\''\"\"??"

// Unescape puts the characters in that ANSI-C escapes stand for: those of $'…', and
// of printf and echo -e as far as they are the same.
func Unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var out []byte
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		if j := strings.IndexByte(plainEscapes, s[i]); j >= 0 && j%2 == 0 {
			out = append(out, plainEscapes[j+1])
			continue
		}
		text, n := number(s[i:])
		if n == 0 {
			out = append(out, '\\', s[i])
			continue
		}
		out = append(out, text...)
		i += n - 1
	}
	return string(out)
}

// number reads an escape that gives a character by its number. It returns how many
// bytes it has.
func number(s string) (text string, n int) {
	base, most, start := 8, 3, 0
	switch s[0] {
	case 'x':
		base, most, start = 16, 2, 1
	case 'u':
		base, most, start = 16, 4, 1
	case 'U':
		base, most, start = 16, 8, 1
	case 'c':
		if len(s) < 2 {
			return "", 0
		}
		return string(s[1] & 0x1f), 2
	case '0':
		most = 4 // echo -e and printf %b have a zero in front
	}
	v, i := rune(0), start
	for ; i < len(s) && i < start+most; i++ {
		d := digit(s[i])
		if d >= base {
			break
		}
		v = v*rune(base) + rune(d)
	}
	switch {
	case i == start:
		return "", 0
	case s[0] == 'u' || s[0] == 'U':
		return string(utf8.AppendRune(nil, v)), i
	}
	return string([]byte{byte(v)}), i
}

func digit(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return 99
}
