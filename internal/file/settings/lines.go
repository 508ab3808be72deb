package settings

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// lines is where the lines of a text begin.
type lines []int

func linesOf(text []byte) lines {
	out := lines{0}
	for i, c := range text {
		if c == '\n' {
			out = append(out, i+1)
		}
	}
	return out
}

// of is the line, from 1 on, that a place is in.
func (l lines) of(at int) int {
	n, found := slices.BinarySearch(l, at)
	if found {
		n++
	}
	return n
}

// OneReading refuses text that readers take apart in different ways: what one of them
// takes for the end of a line, and so of a comment, is a character for another one.
// What is left has lines that end in "\n" or "\r\n", and nothing that people do not
// see but blanks and tabs.
func OneReading(text []byte) error {
	at, r, strange := strangeAt(text)
	switch {
	case !strange:
		return nil
	case r == utf8.RuneError && text[at] != "\ufffd"[0]:
		return fmt.Errorf("line %d: not UTF-8", linesOf(text[:at]).of(at))
	}
	return fmt.Errorf("line %d: the character U+%04X, which ends a line for some readers or is nothing to them", linesOf(text[:at]).of(at), r)
}

// strangeAt finds the first character that does not have one reading.
func strangeAt(text []byte) (at int, r rune, strange bool) {
	for n := 0; at < len(text); at += n {
		r, n = utf8.DecodeRune(text[at:])
		switch {
		case r == '\n', r == '\t', r == '\r' && at+1 < len(text) && text[at+1] == '\n':
		case r < ' ', 0x7f <= r && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == utf8.RuneError:
			return at, r, true
		}
	}
	return at, 0, false
}
