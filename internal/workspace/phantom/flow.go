package phantom

import "strings"

const (
	maxDepth = 64
	maxFlow  = 200 // lines between brackets
)

// flow is a list or a map within brackets, over several lines if need be. One that is not
// understood is hidden as a whole; v is the part of it on this line.
func (r *reader) flow(k key, from int, v string) {
	end, mark := r.at, len(r.out)
	r.limit = r.reach(from)
	r.at = from
	if r.element(k, 0) {
		rest := r.line(r.at)
		if comma, comment, ok := r.tail(rest); ok {
			r.write(comma, comment)
			r.at += len(rest)
			return
		}
	}
	r.at, r.out = end, append(r.out[:mark], quoteJSON(r.opaque(k, v))...)
}

// reach is where the line ends in which as many brackets were closed as were opened.
// Those in quotes are rare and count too.
func (r *reader) reach(from int) int {
	depth := 0
	for n := 0; ; n++ {
		line := r.line(from)
		from += len(line)
		v, _ := cutComment(line, r.inline)
		depth += strings.Count(v, "[") + strings.Count(v, "{") - strings.Count(v, "]") - strings.Count(v, "}")
		next := r.next(from)
		if depth <= 0 || n == maxFlow || next == len(r.in) {
			return from
		}
		from = next
		r.work++
	}
}

func (r *reader) peek() byte {
	if r.at < r.limit {
		return r.in[r.at]
	}
	return 0
}

// space copies blanks and line ends, and shows comments.
func (r *reader) space() {
	for r.at < r.limit {
		c := r.in[r.at]
		if strings.IndexByte(" \t\r\n", c) >= 0 {
			r.copy(r.at + 1)
			continue
		}
		line := r.line(r.at)
		if _, comment := cutComment(line, r.inline); comment != line || strings.IndexByte(" \t\n", r.in[r.at-1]) < 0 {
			return
		}
		r.write(strings.TrimPrefix(r.after(line), " "))
		r.at += len(line)
	}
}

func (r *reader) element(k key, depth int) bool {
	r.space()
	if c := r.peek(); c == '{' || c == '[' {
		return r.list(k, depth, c+2) // '[' and ']', '{' and '}' are two apart
	}
	raw, quote, ok := r.word()
	if ok {
		r.write(r.scalar(k, raw, quote))
	}
	return ok
}

func (r *reader) list(k key, depth int, end byte) bool {
	r.copy(r.at + 1)
	for ok := depth <= maxDepth; ok; {
		r.space()
		switch c := r.peek(); {
		case c == end:
			r.copy(r.at + 1)
			return true
		case c == ',':
			r.copy(r.at + 1)
		case end == '}':
			ok = r.pair(k, depth)
		default:
			ok = r.element(k, depth+1)
		}
	}
	return false
}

func (r *reader) pair(k key, depth int) bool {
	raw, quote, ok := r.word()
	name := r.says(raw, quote)
	if !ok || !proper(name) || !r.keep(name) {
		return false
	}
	r.write(quote, name, quote)
	r.space()
	if c := r.peek(); c != ':' && c != '=' {
		return false
	}
	r.copy(r.at + 1)
	r.space()
	if c := r.peek(); c == ',' || c == '}' {
		return true
	}
	return r.element(k.child(name), depth+1)
}

// word reads a text with or without quotes, and goes on to what is behind it.
func (r *reader) word() (raw, quote string, ok bool) {
	if c := r.peek(); c == '"' || c == '\'' {
		quote = string(c)
		if raw, ok = quoted(r.in[r.at:r.limit], quote, r.indented && c == '\''); ok {
			r.at += len(raw) + 2
		}
		return raw, quote, ok
	}
	stops := ",[]{}\"'#=\n"
	if r.indented {
		stops = ",[]{}\"'#=" // a text goes on after the end of a line
	}
	end := r.at
	for end < r.limit && strings.IndexByte(stops, r.in[end]) < 0 && !r.ends(end) {
		end++
	}
	raw = strings.TrimRight(r.in[r.at:end], " \t\r\n")
	r.at += len(raw)
	return raw, "", raw != ""
}

// ends: a colon ends a word if a blank follows; without YAML, any does.
func (r *reader) ends(at int) bool {
	return r.in[at] == ':' && (!r.indented || at+1 == r.limit || strings.IndexByte(" \r\n,]}", r.in[at+1]) >= 0)
}
