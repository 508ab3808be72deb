package phantom

import "strings"

// flow replaces the values of a list or a map that is written on one line, in YAML or
// in a language like it.
func (m *masker) flow(k key, s string, yaml bool) (string, bool) {
	f := &flowMask{m: m, in: s, yaml: yaml}
	f.value(k, 0)
	f.space()
	return f.out.String(), !f.bad && f.at == len(f.in)
}

type flowMask struct {
	m    *masker
	in   string
	at   int
	yaml bool
	bad  bool
	out  strings.Builder
}

const maxDepth = 64

func (f *flowMask) peek() byte {
	if f.at < len(f.in) {
		return f.in[f.at]
	}
	return 0
}

func (f *flowMask) space() {
	for f.at < len(f.in) && strings.IndexByte(" \t\r\n", f.in[f.at]) >= 0 {
		f.at++
	}
}

func (f *flowMask) value(k key, depth int) {
	f.space()
	switch f.peek() {
	case '{':
		f.nested(k, depth, '}')
	case '[':
		f.nested(k, depth, ']')
	default:
		s, quote := f.scalar()
		f.out.WriteString(f.m.yamlScalar(k, s, quote, f.yaml))
	}
}

func (f *flowMask) nested(k key, depth int, end byte) {
	f.out.WriteByte(f.in[f.at])
	f.at++
	for !f.bad {
		f.space()
		switch c := f.peek(); {
		case c == end:
			f.at++
			f.out.WriteByte(end)
			return
		case c == 0 || depth > maxDepth:
			f.bad = true
		case c == ',':
			f.at++
			f.out.WriteString(", ")
		case end == '}':
			f.pair(k, depth)
		default:
			f.value(k, depth+1)
		}
	}
}

func (f *flowMask) pair(k key, depth int) {
	name, quote := f.scalar()
	f.space()
	sep := f.peek()
	if sep != ':' && sep != '=' || !proper(name) || !f.m.keep(name) {
		f.bad = true
		return
	}
	f.at++
	f.out.WriteString(quote + name + quote)
	if sep == '=' {
		f.out.WriteString(" = ")
	} else {
		f.out.WriteString(": ")
	}
	f.space()
	if c := f.peek(); c != ',' && c != '}' {
		f.value(k.child(name), depth+1)
	}
}

// scalar reads a text with or without quotes.
func (f *flowMask) scalar() (s, quote string) {
	if c := f.peek(); c == '"' || c == '\'' {
		l := &lines{}
		inner, _, ok := l.quoted(f.in[f.at:], string(c), c == '"', true)
		if !ok {
			f.bad = true
			return "", ""
		}
		f.at += len(inner) + 2
		if c == '"' {
			inner = unescape(inner)
		}
		return inner, string(c)
	}
	end := f.at
	for end < len(f.in) && strings.IndexByte(",[]{}\"'#=\n", f.in[end]) < 0 && !f.ends(end) {
		end++
	}
	s = strings.TrimSpace(f.in[f.at:end])
	if s == "" {
		f.bad = true
	}
	f.at = end
	return s, ""
}

// ends: a colon ends a word if a blank follows; without YAML, any does.
func (f *flowMask) ends(at int) bool {
	return f.in[at] == ':' && (!f.yaml || at+1 == len(f.in) || strings.IndexByte(" ,]}", f.in[at+1]) >= 0)
}
