package environ

import "strings"

// blank is what separates words in a line.
const blank = " \t"

// parseValue reads what follows the =; mistake is "" if it is well formed, and
// never quotes the text.
func parseValue(text string) (value, mistake string) {
	var rest string
	switch {
	case strings.HasPrefix(text, "'"):
		value, rest, mistake = single(text[1:])
	case strings.HasPrefix(text, `"`):
		value, rest, mistake = double(text[1:])
	default:
		value, rest, mistake = bare(text)
	}
	if mistake != "" {
		return "", mistake
	}
	after := strings.TrimLeft(rest, blank)
	if after == "" || after[0] == '#' && after != rest {
		return value, ""
	}
	return "", "text after the value; a value with blanks needs quotes"
}

func single(text string) (value, rest, mistake string) {
	value, rest, ok := strings.Cut(text, "'")
	if !ok {
		return "", "", "the single quote is not closed in this line"
	}
	return value, rest, ""
}

// escapes are what may follow a backslash in double quotes.
var escapes = map[byte]byte{'\\': '\\', '"': '"', '$': '$', '`': '`', 'n': '\n', 'r': '\r', 't': '\t'}

func double(text string) (value, rest, mistake string) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			return b.String(), text[i+1:], ""
		case '$', '`':
			return "", "", "$ and ` expand nothing here; write \\$ or \\`, or use single quotes"
		case '\\':
			i++
			if i == len(text) {
				return "", "", "a backslash at the end of the line"
			}
			c, ok := escapes[text[i]]
			if !ok {
				return "", "", "an unknown escape after a backslash"
			}
			b.WriteByte(c)
		default:
			b.WriteByte(text[i])
		}
	}
	return "", "", "the double quote is not closed in this line"
}

// bare reads an unquoted value, up to the first blank. What a shell would take
// for an operator, a quote or an expansion is refused.
func bare(text string) (value, rest, mistake string) {
	end := strings.IndexAny(text, blank)
	if end < 0 {
		end = len(text)
	}
	value, rest = text[:end], text[end:]
	for i := range len(value) {
		if c := value[i]; c < ' ' || c == 0x7f || strings.IndexByte("\"'\\$`&|;<>()", c) >= 0 {
			return "", "", "a character in the value needs quotes"
		}
	}
	if strings.HasPrefix(value, "~") || strings.Contains(value, ":~") {
		return "", "", "~ expands to nothing here; write the path out, or use single quotes"
	}
	return value, rest, ""
}
