package phantom

import "strings"

// edit goes over a text from its beginning to its end. What is not replaced stays as it
// is written.
type edit struct {
	*masker
	in  string
	at  int // what is before it is done
	out []byte
}

func (e *edit) write(parts ...string) {
	for _, p := range parts {
		e.out = append(e.out, p...)
	}
}

// copy shows what stands before to.
func (e *edit) copy(to int) {
	e.write(e.in[e.at:to])
	e.at = to
}

// put shows a text in the place of in[from:to], after what stands before that.
func (e *edit) put(from, to int, text string) {
	e.copy(from)
	e.write(text)
	e.at = to
}

// line is what is left of the line that begins at from, without its end.
func (e *edit) line(from int) string {
	line, _, _ := strings.Cut(e.in[from:], "\n")
	return strings.TrimSuffix(line, "\r")
}

// next is where the line after that of from begins.
func (e *edit) next(from int) int {
	if n := strings.IndexByte(e.in[from:], '\n'); n >= 0 {
		return from + n + 1
	}
	return len(e.in)
}

// endLine copies the end of the line at hand.
func (e *edit) endLine() { e.copy(e.next(e.at)) }

// quoted is the text in quotes at the beginning of s, as it is written. A backslash
// stands before a double quote that does not end it; with doubled, a second quote does.
func quoted(s, quote string, doubled bool) (raw string, ok bool) {
	for i := len(quote); i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote[0] == '"':
			i++
		case !strings.HasPrefix(s[i:], quote):
		case doubled && strings.HasPrefix(s[i+1:], quote):
			i++
		default:
			return s[len(quote):i], true
		}
	}
	return "", false
}

var escapes = strings.NewReplacer(`\n`, "\n", `\r`, "\r", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\$`, `$`, `\/`, `/`)

// escape writes what is between double quotes. Line ends stay line ends where there were
// some.
func escape(s string, plainEnds bool) string {
	s = strings.ReplaceAll(s, `\`, `\\`)
	s = strings.ReplaceAll(s, `"`, `\"`)
	if !plainEnds {
		s = strings.ReplaceAll(s, "\n", `\n`)
	}
	return s
}

// cutComment parts a value from the comment after it.
func cutComment(s, marks string) (v, comment string) {
	for i := range len(s) {
		if strings.IndexByte(marks, s[i]) >= 0 && (i == 0 || s[i-1] == ' ' || s[i-1] == '\t') && (s[i] != '/' || strings.HasPrefix(s[i:], "//")) {
			return strings.TrimRight(s[:i], " \t"), s[i:]
		}
	}
	return s, ""
}

// after is the comment after a value.
func (m *masker) after(comment string) string {
	if comment == "" {
		return ""
	}
	body := strings.TrimLeft(comment, "#;!/")
	return " " + comment[:len(comment)-len(body)] + m.comment(body)
}
