package hostexec

import (
	"errors"
	"fmt"
	"strings"
)

// entry is one setting of git's configuration. Section and name are lower case, a
// subsection keeps its case.
type entry struct {
	key   string
	value string
	bare  bool // written without "=", which git reads as true
	line  int
}

// section, sub and name take the key apart; sub may have dots of its own.
func (e entry) section() string { s, _, _ := strings.Cut(e.key, "."); return s }
func (e entry) name() string    { return e.key[strings.LastIndexByte(e.key, '.')+1:] }

func (e entry) sub() (string, bool) {
	first, last := strings.IndexByte(e.key, '.'), strings.LastIndexByte(e.key, '.')
	if first >= last {
		return "", false
	}
	return e.key[first+1 : last], true
}

// parseConfig reads git's syntax as git does, except that it refuses NUL bytes, keys
// without a section and sections without a name.
func parseConfig(b []byte) ([]entry, error) {
	p := &configReader{in: strings.TrimPrefix(string(b), "\ufeff"), line: 1}
	entries, err := p.file()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	return entries, nil
}

type configReader struct {
	in   string
	at   int
	line int
	end  bool
}

// next returns the next character. The end counts as a newline, and so does CRLF.
func (p *configReader) next() byte {
	if p.at >= len(p.in) {
		p.end = true
		return '\n'
	}
	if p.in[p.at] == '\r' && p.at+1 < len(p.in) && p.in[p.at+1] == '\n' {
		p.at++
	}
	c := p.in[p.at]
	p.at++
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *configReader) file() ([]entry, error) {
	if strings.IndexByte(p.in, 0) >= 0 {
		return nil, errors.New("a NUL byte")
	}
	var entries []entry
	section := ""
	for {
		c := p.next()
		switch {
		case p.end:
			return entries, nil
		case blank(c):
		case c == '#' || c == ';':
			for p.next() != '\n' {
			}
		case c == '[':
			var err error
			if section, err = p.section(); err != nil {
				return nil, err
			}
		case letter(c) && section != "":
			if len(entries) == maxSettings {
				return nil, errMany
			}
			e, err := p.entry(section, c)
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		default:
			return nil, errors.New("neither a section nor a key")
		}
	}
}

// section reads what follows "[".
func (p *configReader) section() (string, error) {
	var name strings.Builder
	for {
		c := p.next()
		switch {
		case p.end:
			return "", errors.New("a section without an end")
		case c == ']' && name.Len() > 0:
			return name.String(), nil
		case blank(c) && c != '\n' && name.Len() > 0:
			sub, err := p.subsection()
			return name.String() + "." + sub, err
		case keyByte(c) || c == '.' && name.Len() > 0:
			name.WriteByte(lower(c))
		default:
			return "", errors.New("not the name of a section")
		}
	}
}

// subsection reads what follows the name of a section: the rest of [name "sub"].
func (p *configReader) subsection() (string, error) {
	bad := errors.New("not a subsection")
	c := p.next()
	for c != '\n' && blank(c) {
		c = p.next()
	}
	if c != '"' {
		return "", bad
	}
	var sub strings.Builder
	for {
		c = p.next()
		if c == '"' {
			break
		}
		if c == '\\' {
			c = p.next()
		}
		if c == '\n' {
			return "", bad
		}
		sub.WriteByte(c)
	}
	if p.next() != ']' {
		return "", bad
	}
	return sub.String(), nil
}

// entry reads a key that begins with c, and its value.
func (p *configReader) entry(section string, c byte) (entry, error) {
	e := entry{line: p.line}
	var name strings.Builder
	for keyByte(c) {
		name.WriteByte(lower(c))
		c = p.next()
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	e.key = section + "." + name.String()
	if c == '\n' {
		e.bare = true
		return e, nil
	}
	if c != '=' {
		return e, errors.New("no = behind the key")
	}
	var err error
	e.value, err = p.value()
	return e, err
}

func (p *configReader) value() (string, error) {
	var v strings.Builder
	quoted, spaces := false, 0
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errors.New("a quote without an end")
		case c == '\n':
			return v.String(), nil
		case blank(c) && !quoted:
			if v.Len() > 0 {
				spaces++
			}
			continue
		case (c == '#' || c == ';') && !quoted:
			for p.next() != '\n' {
			}
			return v.String(), nil
		}
		for ; spaces > 0; spaces-- {
			v.WriteByte(' ')
		}
		switch c {
		case '"':
			quoted = !quoted
		case '\\':
			if err := p.escape(&v); err != nil {
				return "", err
			}
		default:
			v.WriteByte(c)
		}
	}
}

func (p *configReader) escape(v *strings.Builder) error {
	switch c := p.next(); c {
	case '\n': // goes on in the next line
	case 't':
		v.WriteByte('\t')
	case 'b':
		v.WriteByte('\b')
	case 'n':
		v.WriteByte('\n')
	case '\\', '"':
		v.WriteByte(c)
	default:
		return errors.New("an escape that means nothing")
	}
	return nil
}

func blank(c byte) bool   { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func letter(c byte) bool  { return 'a' <= lower(c) && lower(c) <= 'z' }
func keyByte(c byte) bool { return letter(c) || '0' <= c && c <= '9' || c == '-' }
