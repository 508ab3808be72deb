package phantom

import (
	"strings"
)

// maxContinued bounds the lines of a value without quotes.
const maxContinued = 100

var hereForm = lazily(`^<<-?([A-Za-z_][A-Za-z0-9_]{0,30})$`)

// right shows what follows a key or a dash, from a place in the line at hand on.
func (r *reader) right(k key, from, indent int) {
	if r.indented {
		from = r.marks(k, from)
	}
	s := strings.TrimRight(r.in[from:r.at], " \t")
	v, comment := cutComment(s, r.inline)
	here := hereForm().FindStringSubmatch(s)
	switch {
	case v == "":
		r.write(strings.TrimPrefix(r.after(comment), " "))
	case r.brackets && here != nil:
		r.here(k, s, here[1])
	case r.brackets && (v == "{" || v == "["):
		r.above = append(r.above, level{key: k})
		r.write(v, r.after(comment))
	case r.indented && reference().MatchString(v):
		r.write(v, r.after(comment))
	case r.indented && yamlBlock().MatchString(v):
		r.write(v)
		r.block(k, indent)
	case strings.IndexByte(r.quotes, s[0]) >= 0 && r.inQuotes(k, from):
	case s[0] == '{' && (r.brackets || r.indented), s[0] == '[' && (r.brackets || r.indented):
		r.flow(k, from, v)
	case r.indented && strings.IndexByte(r.quotes, s[0]) >= 0:
		r.write(quoteJSON(r.opaque(k, s)))
	default:
		r.plain(k, s)
	}
}

// plain is a value without quotes.
func (r *reader) plain(k key, s string) {
	for n := 0; !r.indented && strings.HasSuffix(s, `\`) && n < maxContinued; n++ { // it goes on
		r.at = r.next(r.at)
		line := r.line(r.at)
		r.at += len(line)
		s = strings.TrimSuffix(s, `\`) + strings.TrimSpace(line)
	}
	v, comment := cutComment(s, r.inline)
	if k.secret && !r.indented {
		comment = "" // other readers take it for a part of the value
	}
	comma := ""
	if r.brackets && strings.HasSuffix(v, ",") {
		v, comma = strings.TrimSpace(strings.TrimSuffix(v, ",")), ","
	}
	r.write(r.scalar(k, v, ""), comma, r.after(comment))
}

// inQuotes is a value in quotes, with nothing but a comma or a comment after it.
func (r *reader) inQuotes(k key, from int) bool {
	quote, in := r.in[from:from+1], r.in[from:]
	if r.brackets && strings.HasPrefix(in, strings.Repeat(quote, 3)) {
		quote = in[:3]
	} else if r.brackets {
		in = r.in[from:r.at] // it ends on its line
	}
	raw, ok := quoted(in, quote, r.indented && quote == "'")
	if !ok {
		return false
	}
	end := from + len(raw) + 2*len(quote)
	rest := r.line(end)
	comma, comment, ok := r.tail(rest)
	if ok {
		r.write(r.scalar(k, raw, quote), comma, comment)
		r.at = end + len(rest)
	}
	return ok
}

// tail is what may follow a value on its last line.
func (r *reader) tail(s string) (comma, comment string, ok bool) {
	s = strings.TrimSpace(s)
	if r.brackets && strings.HasPrefix(s, ",") {
		comma, s = ",", strings.TrimSpace(s[1:])
	}
	if s != "" && strings.IndexByte(r.comments, s[0]) < 0 {
		return "", "", false
	}
	return comma, r.after(s), true
}

// scalar is what stands for a value, written as the value was: in the same quotes, or
// without any if nothing else can be read from it then.
func (r *reader) scalar(k key, raw, quote string) string {
	was := r.says(raw, quote)
	out := r.value(k, was)
	switch {
	case quote == "" && !r.brackets && !r.indented:
		return strings.ReplaceAll(out, "\n", `\n`)
	case quote == "" && (out == was && !strings.Contains(was, "\n") || numberForm().MatchString(out)):
		return out
	case quote == "" && r.indented && out != "" && isLower(out[0]|0x20) && allIn(out, alnums+"_./@-"):
		return out
	case quote == "" || r.indented && quote == "'" && strings.Contains(out, "\n"):
		return quoteJSON(out)
	case quote[0] == '"':
		out = escape(out, strings.Contains(raw, "\n") && !r.indented)
	case r.indented:
		out = strings.ReplaceAll(out, "'", "''")
	}
	return quote + out + quote
}

// says is what a text in quotes says.
func (r *reader) says(raw, quote string) string {
	switch {
	case quote != "" && quote[0] == '"':
		return escapes.Replace(raw)
	case quote == "'" && r.indented:
		return strings.ReplaceAll(raw, "''", "'")
	}
	return raw
}

// here is a here-document. Its lines become one value.
func (r *reader) here(k key, head, mark string) {
	r.write(head)
	r.endLine()
	var body []string
	for ; r.at < len(r.in); r.at = r.next(r.at) {
		line := r.line(r.at)
		if strings.TrimSpace(line) == mark {
			r.at += len(line)
			break
		}
		body = append(body, line)
	}
	r.write(r.value(k, strings.Join(body, "\n")), "\n", mark)
}
