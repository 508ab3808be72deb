package hostexec

import (
	"fmt"
	"unicode/utf8"
)

// OneReading refuses text that readers take apart in different ways: what one of them
// takes for the end of a line, and so of a comment, is a character for another one.
// What is left has lines that end in "\n" or "\r\n", and nothing that people do not
// see but blanks and tabs.
func OneReading(text []byte) error {
	line := 1
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return fmt.Errorf("line %d: not UTF-8", line)
		case r == '\n':
			line++
		case r == '\t', r == '\r' && i+1 < len(text) && text[i+1] == '\n':
		case r < ' ', 0x7f <= r && r < 0xa0, r == 0x2028, r == 0x2029, r == 0xfeff, r == utf8.RuneError:
			return fmt.Errorf("line %d: the character U+%04X, which ends a line for some readers or is nothing to them", line, r)
		}
		i += n
	}
	return nil
}
