package phantom

import "strings"

// lines reads a text line by line.
type lines struct {
	rest string
	out  strings.Builder
}

// next returns a line and its end.
func (l *lines) next() (line, end string, ok bool) {
	if l.rest == "" {
		return "", "", false
	}
	line, rest, found := strings.Cut(l.rest, "\n")
	if found {
		end = "\n"
	}
	l.rest = rest
	if cut, ok := strings.CutSuffix(line, "\r"); ok {
		line, end = cut, "\r"+end
	}
	return line, end, true
}

func (l *lines) write(parts ...string) {
	for _, p := range parts {
		l.out.WriteString(p)
	}
}

// quoted reads a text in quotes at the beginning of s, which goes on in the lines
// after it if more is set. It tells what is between the quotes and what is left of
// the last line.
func (l *lines) quoted(s, quote string, escapes, more bool) (inner, tail string, ok bool) {
	s = s[len(quote):]
	n := closing(s, quote, escapes)
	if n <= len(s) {
		return s[:n], s[n+len(quote):], true
	}
	if !more || l.rest == "" {
		return "", "", false
	}
	from := 0
	if n > len(s)+1 { // a backslash at the end of the line
		from = 1
	}
	n = closing(l.rest[from:], quote, escapes) + from
	if n > len(l.rest) {
		return "", "", false
	}
	inner = s + "\n" + l.rest[:n]
	tail, l.rest, _ = strings.Cut(l.rest[n+len(quote):], "\n")
	return inner, strings.TrimSuffix(tail, "\r"), true
}

// closing is where the quote is. Without one it is beyond s by one, and by two if s
// ends in a backslash that stands for itself.
func closing(s, quote string, escapes bool) int {
	i := 0
	for i < len(s) {
		if escapes && s[i] == '\\' {
			i += 2
			continue
		}
		if strings.HasPrefix(s[i:], quote) {
			return i
		}
		i++
	}
	return i + 1
}

var escapes = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, `$`, `\/`, `/`)

// unescape reads what is between double quotes.
func unescape(s string) string { return escapes.Replace(s) }

// escape writes it again. Line ends stay line ends where there were some.
func escape(s string, plainEnds bool) string {
	s = strings.ReplaceAll(s, `\`, `\\`)
	s = strings.ReplaceAll(s, `"`, `\"`)
	if !plainEnds {
		s = strings.ReplaceAll(s, "\n", `\n`)
	}
	return s
}
