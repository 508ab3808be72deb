package phantom

import (
	"strings"
)

// cutComment parts a value from the comment after it.
func cutComment(s, marks string) (v, comment string) {
	for i := 0; i < len(s); i++ {
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
	return " " + comment[:1] + m.comment(strings.TrimLeft(comment[1:], "/"))
}

// inQuotes is a value in quotes, with nothing but a comma or a comment after it.
func (m *masker) inQuotes(d *dialect, l *lines, k key, s string) (string, bool) {
	quote := s[:1]
	if d.nested && strings.HasPrefix(s, strings.Repeat(quote, 3)) {
		quote = s[:3]
	}
	was := l.rest
	inner, tail, ok := l.quoted(s, quote, quote[0] == '"', !d.nested || len(quote) == 3)
	if !ok {
		return "", false
	}
	tail = strings.TrimSpace(tail)
	comma := ""
	if d.nested && strings.HasPrefix(tail, ",") {
		comma, tail = ",", strings.TrimSpace(tail[1:])
	}
	if tail != "" && strings.IndexByte(d.comments, tail[0]) < 0 {
		l.rest = was
		return "", false
	}
	var out string
	if quote[0] == '"' {
		out = escape(m.value(k, unescape(inner)), strings.Contains(inner, "\n"))
	} else {
		out = m.value(k, inner)
	}
	return quote + out + quote + comma + m.after(tail), true
}

var hereForm = lazily(`^<<-?([A-Za-z_][A-Za-z0-9_]{0,30})$`)

// nested is a list, a map or a here-document.
func (m *masker) nested(l *lines, k key, s string) (out string, opens, ok bool) {
	if f := hereForm.FindStringSubmatch(s); f != nil {
		return m.here(l, k, s, f[1]), false, true
	}
	if s[0] != '{' && s[0] != '[' {
		return "", false, false
	}
	v, comment := cutComment(s, "#/")
	if v == "{" || v == "[" {
		return v + m.after(comment), true, true
	}
	comma := ""
	if strings.HasSuffix(v, ",") {
		v, comma = strings.TrimSuffix(v, ","), ","
	}
	if out, ok := m.flow(k, v, false); ok {
		return out + comma + m.after(comment), false, true
	}
	return quoteJSON(m.opaque(k, v)), false, true
}

// here is a here-document. Its lines become one value.
func (m *masker) here(l *lines, k key, head, mark string) string {
	var body []string
	for {
		line, _, ok := l.next()
		if !ok || strings.TrimSpace(line) == mark {
			break
		}
		body = append(body, line)
	}
	return head + "\n" + m.value(k, strings.Join(body, "\n")) + "\n" + mark
}

// bareScalar is a value without quotes in a language that has types: a word of it
// stays, all else becomes a string.
func (m *masker) bareScalar(k key, v string) string {
	comma := ""
	if strings.HasSuffix(v, ",") {
		v, comma = strings.TrimSpace(strings.TrimSuffix(v, ",")), ","
	}
	out := m.value(k, v)
	if out != v && !numberForm.MatchString(out) {
		out = quoteJSON(out)
	}
	return out + comma
}
