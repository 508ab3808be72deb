package injection

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fold writes a word in the form in which words are compared: lower case, without
// accents and hidden characters, with letters for what only looks like one.
func (r *reader) fold(body string) string {
	r.buf = r.buf[:0]
	latin := strings.ContainsFunc(body, func(c rune) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' })
	for i := 0; i < len(body); {
		c, size := utf8.DecodeRuneInString(body[i:])
		if c == '&' {
			if n := entityLen(body[i:]); n > 0 {
				c, size = entity(body[i:i+n]), n
			}
		}
		i += size
		switch {
		case c < utf8.RuneSelf:
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			r.buf = append(r.buf, byte(c))
			continue
		case unseenInWord(c), unicode.Is(unicode.Mn, c):
			continue
		case 0xff01 <= c && c <= 0xff5e: // wide forms
			c = unicode.ToLower(c - 0xff01 + '!')
		}
		c = unicode.ToLower(c)
		if s := plainOf[c]; s != "" {
			r.buf = append(r.buf, s...)
			continue
		}
		if l := looksLike[c]; l != 0 && latin {
			c = l
		}
		r.buf = utf8.AppendRune(r.buf, c)
	}
	return string(r.buf)
}

// entityLen is the length of a character that a page writes as a number, 0 if none is
// there.
func entityLen(s string) int {
	if len(s) < 4 || s[1] != '#' {
		return 0
	}
	end := strings.IndexByte(s[:min(len(s), 10)], ';')
	if end < 3 || entity(s[:end+1]) == 0 {
		return 0
	}
	return end + 1
}

func entity(s string) rune {
	digits, base := s[2:len(s)-1], 10
	if digits[0] == 'x' || digits[0] == 'X' {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 21)
	if err != nil || !unicode.IsLetter(rune(n)) {
		return 0
	}
	return rune(n)
}

// plainOf are letters without what stands on them.
var plainOf = table("a àáâãäåāą", "c çćč", "d ďđ", "e èéêëēęě", "g ğ", "i ìíîïīı", "l ł", "n ñńň", "o òóôõöøō", "r ř", "s śşš", "t ťţ", "u ùúûüūů", "y ýÿ", "z źżž", "ss ß", "ae æ", "oe œ")

func table(rows ...string) map[rune]string {
	out := map[rune]string{}
	for _, row := range rows {
		to, from, _ := strings.Cut(row, " ")
		for _, c := range from {
			out[c] = to
		}
	}
	return out
}

// looksLike are letters of other scripts that stand for Latin ones, in a word that has
// some.
var looksLike = map[rune]rune{'а': 'a', 'е': 'e', 'о': 'o', 'р': 'p', 'с': 'c', 'х': 'x', 'у': 'y', 'і': 'i', 'ѕ': 's', 'ј': 'j', 'ԁ': 'd', 'ӏ': 'l', 'ո': 'n', 'ν': 'v', 'ο': 'o', 'α': 'a', 'ι': 'i', 'ρ': 'p', 'τ': 't', 'υ': 'u', 'κ': 'k', 'ε': 'e', 'ɡ': 'g', 'ı': 'i', 'һ': 'h', 'ԛ': 'q', 'ԝ': 'w'}
