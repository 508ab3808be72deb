package injection

import (
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shortestCode is the length of a run that is decoded.
const shortestCode = 32

// encoded are the runs that decode to a text.
func encoded(w *work, text string) (out []place) {
	w.charge(2 * len(text))
	for at := 0; at < len(text); {
		if !codeByte(text[at]) {
			at++
			continue
		}
		end := at + 1
		for end < len(text) && codeByte(text[end]) {
			end++
		}
		if end-at >= shortestCode {
			if plain := decode(text[at:end]); plain != "" {
				out = append(out, place{at, plain})
			}
		}
		at = end
	}
	return out
}

func codeByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '+' || c == '/' || c == '_' || c == '-'
}

// decode tries the two codes; "" where no text comes of it.
func decode(run string) string {
	run = strings.TrimPrefix(run, "0x")
	if b, err := hex.DecodeString(run[:len(run)&^1]); err == nil && readable(b) {
		return string(b)
	}
	run = strings.NewReplacer("-", "+", "_", "/").Replace(run)
	b, err := base64.RawStdEncoding.DecodeString(run[:len(run)&^3])
	if err != nil || !readable(b) {
		return ""
	}
	return string(b)
}

// readable holds for what could be a text: nearly all of it are letters and spaces.
func readable(b []byte) bool {
	if !utf8.Valid(b) && !utf8.Valid(trimRune(b)) {
		return false
	}
	letters, all := 0, 0
	for _, r := range string(b) {
		all++
		switch {
		case unicode.IsLetter(r), r == ' ', r == '\n', unicode.IsDigit(r), unicode.IsPunct(r), unicode.IsSymbol(r), r == '\t', r == '\r':
			letters++
		}
	}
	return all > 0 && letters*100 >= all*95
}

// trimRune drops a character that was cut off at the end.
func trimRune(b []byte) []byte {
	for n := 1; n < utf8.UTFMax && n < len(b); n++ {
		if utf8.RuneStart(b[len(b)-n]) {
			return b[:len(b)-n]
		}
	}
	return b
}
