package serviceapi

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	maxDocument = 256 << 10
	maxTokens   = 20000
)

// The kinds of tokens of GraphQL; punctuation is its own kind.
const (
	end     = 0
	name    = 'n'
	number  = '0'
	text    = '"'
	ellipse = '.'
)

type token struct {
	kind  byte
	value string // of a name, a number as written, or a string decoded
}

// lex takes a GraphQL document apart. It is stricter than the standard wherever
// two readers might disagree: outside strings there is ASCII only, a carriage
// return stands before a line feed or not at all, and control characters are
// refused everywhere.
func lex(doc string) ([]token, error) {
	if len(doc) > maxDocument {
		return nil, fmt.Errorf("the query is longer than %d bytes", maxDocument)
	}
	if !utf8.ValidString(doc) || strings.Contains(strings.ReplaceAll(doc, "\r\n", "\n"), "\r") {
		return nil, errors.New("the query is not plain text")
	}
	var out []token
	for i := 0; i < len(doc); {
		c := doc[i]
		var t token
		n, err := 1, error(nil)
		switch {
		case strings.IndexByte(" \t\r\n,", c) >= 0:
		case c == '#':
			n, err = comment(doc[i:])
		case strings.IndexByte("!$&()[]{}:=@|", c) >= 0:
			t.kind = c
		case strings.HasPrefix(doc[i:], "..."):
			t.kind, n = ellipse, 3
		case letter(c):
			for n < len(doc)-i && (letter(doc[i+n]) || digit(doc[i+n])) {
				n++
			}
			t = token{name, doc[i : i+n]}
		case c == '-' || digit(c):
			t.kind = number
			n, err = scanNumber(doc[i:])
			t.value = doc[i : i+n]
		case c == '"':
			t.kind = text
			t.value, n, err = scanString(doc[i:])
		default:
			err = fmt.Errorf("the query holds %q", c)
		}
		if err != nil {
			return nil, err
		}
		if t.kind != end {
			out = append(out, t)
		}
		if i += n; len(out) > maxTokens {
			return nil, fmt.Errorf("the query has more than %d parts", maxTokens)
		}
	}
	return out, nil
}

func letter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }

func comment(s string) (int, error) {
	line, _, _ := strings.Cut(s, "\n")
	for _, c := range []byte(strings.TrimSuffix(line, "\r")) {
		if (c < ' ' && c != '\t') || c > '~' {
			return 0, errors.New("a comment of the query holds more than ASCII")
		}
	}
	return len(line), nil
}

// scanNumber returns the length of the number at the head of s.
func scanNumber(s string) (int, error) {
	i := 0
	run := func() bool {
		from := i
		for i < len(s) && digit(s[i]) {
			i++
		}
		return i > from
	}
	if s[i] == '-' {
		i++
	}
	zero := i < len(s) && s[i] == '0'
	from := i
	ok := run() && !(zero && i > from+1)
	if ok && i < len(s) && s[i] == '.' {
		i++
		ok = run()
	}
	if ok && i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		ok = run()
	}
	if !ok || (i < len(s) && (letter(s[i]) || s[i] == '.')) {
		return 0, errors.New("a number of the query cannot be read")
	}
	return i, nil
}

// scanString returns the string at the head of s, decoded, and how long it was.
func scanString(s string) (string, int, error) {
	if strings.HasPrefix(s, `"""`) {
		return scanBlock(s)
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			return b.String(), i + 1, nil
		case c < ' ' || c == 0x7f:
			return "", 0, errors.New("a string of the query holds a control character")
		case c != '\\':
			b.WriteByte(c)
		case i+1 < len(s) && strings.IndexByte(`"\/bfnrt`, s[i+1]) >= 0:
			i++
			b.WriteByte("\"\\/\b\f\n\r\t"[strings.IndexByte(`"\/bfnrt`, s[i])])
		case i+5 < len(s) && s[i+1] == 'u' && hex(s[i+2]) && hex(s[i+3]) && hex(s[i+4]) && hex(s[i+5]):
			b.WriteRune(rune(unhex(s[i+2]))<<12 | rune(unhex(s[i+3]))<<8 | rune(unhex(s[i+4]))<<4 | rune(unhex(s[i+5])))
			i += 5
		default:
			return "", 0, errors.New("a string of the query holds an escape that is not known")
		}
	}
	return "", 0, errors.New("a string of the query has no end")
}

// scanBlock reads a string in triple quotes. Its indentation is kept: nothing is
// decided by such a text.
func scanBlock(s string) (string, int, error) {
	for i := 3; i < len(s); i++ {
		switch {
		case strings.HasPrefix(s[i:], `\"""`):
			i += 3
		case strings.HasPrefix(s[i:], `"""`):
			return "\n" + s[3:i], i + 3, nil
		case (s[i] < ' ' && strings.IndexByte("\t\r\n", s[i]) < 0) || s[i] == 0x7f:
			return "", 0, errors.New("a string of the query holds a control character")
		}
	}
	return "", 0, errors.New("a string of the query has no end")
}
