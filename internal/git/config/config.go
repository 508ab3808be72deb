// Package config reads the configuration files of git as git reads them. A test holds
// every answer against git's own.
package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// MaxBytes bounds one file; those who read files keep to it.
	MaxBytes = 1 << 20
	// MaxEntries bounds the settings of one file.
	MaxEntries = 20000
)

// Entry is one setting. Section and name are lower case, a subsection keeps its case:
// "includeif.gitdir:~/work/.path".
type Entry struct {
	Key   string
	Value string
	Bare  bool // written without "=", which git reads as true
	Line  int
}

// Section is the first part of the key.
func (e Entry) Section() string { s, _, _ := strings.Cut(e.Key, "."); return s }

// Name is the last part of the key.
func (e Entry) Name() string { return e.Key[strings.LastIndexByte(e.Key, '.')+1:] }

// Sub is what stands between the two. It may have dots of its own.
func (e Entry) Sub() (string, bool) {
	first, last := strings.IndexByte(e.Key, '.'), strings.LastIndexByte(e.Key, '.')
	if first >= last {
		return "", false
	}
	return e.Key[first+1 : last], true
}

// IsTrue reports whether git takes the value for true.
func (e Entry) IsTrue() bool {
	return e.Bare || slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(e.Value))
}

// IsFalse reports whether git takes the value for false.
func (e Entry) IsFalse() bool {
	return !e.Bare && slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(e.Value))
}

// Same compares what two entries say, wherever they stand.
func (e Entry) Same(o Entry) bool { return e.Key == o.Key && e.Value == o.Value && e.Bare == o.Bare }

// Parse reads a file. It refuses what git refuses, and NUL bytes, keys without a section
// and sections whose name is empty or begins with a dot: git takes those and never writes
// them, and no rule could name them.
func Parse(b []byte) ([]Entry, error) {
	entries, err := ParsePart(b)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// ParsePart is the same, and returns beside an error what stands before it.
func ParsePart(b []byte) ([]Entry, error) {
	p := &parser{in: strings.TrimPrefix(string(b), "\ufeff"), line: 1}
	entries, err := p.file()
	if err != nil {
		return entries, fmt.Errorf("line %d: %w", p.at, err)
	}
	return entries, nil
}

type parser struct {
	in   string
	pos  int
	line int // of the next character
	at   int // of the last one, for errors
	eof  bool
}

// next returns the next character; CRLF counts as a newline, and so does the end.
func (p *parser) next() byte {
	p.at = p.line
	if p.pos >= len(p.in) {
		p.eof = true
		return '\n'
	}
	if strings.HasPrefix(p.in[p.pos:], "\r\n") {
		p.pos++
	}
	c := p.in[p.pos]
	p.pos++
	if c == '\n' {
		p.line++
	}
	return c
}

func (p *parser) file() ([]Entry, error) {
	if strings.ContainsRune(p.in, 0) {
		return nil, errors.New("a NUL byte")
	}
	var entries []Entry
	var section string
	for {
		c := p.next()
		switch {
		case p.eof:
			return entries, nil
		case isSpace(c):
		case c == '#' || c == ';':
			p.skipLine()
		case c == '[':
			var err error
			if section, err = p.section(); err != nil {
				return entries, err
			}
		case isAlpha(c) && section != "":
			if len(entries) == MaxEntries {
				return entries, fmt.Errorf("more than %d settings", MaxEntries)
			}
			e, err := p.entry(section, c)
			if err != nil {
				return entries, err
			}
			entries = append(entries, e)
		default:
			return entries, errors.New("neither a section nor a key")
		}
	}
}

func (p *parser) skipLine() {
	for p.next() != '\n' {
	}
}

// section reads what follows "[".
func (p *parser) section() (string, error) {
	var name strings.Builder
	for {
		c := p.next()
		switch {
		case c == ']' && name.Len() > 0:
			return name.String(), nil
		case c != '\n' && isSpace(c) && name.Len() > 0:
			sub, err := p.subsection()
			return name.String() + "." + sub, err
		case NameByte(c) || c == '.' && name.Len() > 0:
			name.WriteByte(lower(c))
		default:
			return "", errors.New("not the name of a section")
		}
	}
}

// subsection reads what follows the name of a section: "sub"].
func (p *parser) subsection() (string, error) {
	bad := errors.New("not a subsection")
	c := p.next()
	for c != '\n' && isSpace(c) {
		c = p.next()
	}
	if c != '"' {
		return "", bad
	}
	var sub strings.Builder
	for {
		c := p.next()
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

// entry reads a key whose first character is c, and its value.
func (p *parser) entry(section string, c byte) (Entry, error) {
	e := Entry{Line: p.at}
	var name strings.Builder
	for NameByte(c) {
		name.WriteByte(lower(c))
		c = p.next()
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	e.Key = section + "." + name.String()
	if c == '\n' {
		e.Bare = true
		return e, nil
	}
	if c != '=' {
		return e, errors.New("no = behind the key")
	}
	var err error
	e.Value, err = p.value()
	return e, err
}

func (p *parser) value() (string, error) {
	var v strings.Builder
	quoted, spaces := false, 0
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errors.New("a quote without an end")
		case c == '\n':
			return v.String(), nil
		case isSpace(c) && !quoted:
			if v.Len() > 0 {
				spaces++
			}
			continue
		case (c == '#' || c == ';') && !quoted:
			p.skipLine()
			return v.String(), nil
		}
		v.WriteString(strings.Repeat(" ", spaces))
		spaces = 0
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

func (p *parser) escape(v *strings.Builder) error {
	switch c := p.next(); c {
	case '\n': // continued on the next line
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

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isAlpha(c byte) bool { return 'a' <= lower(c) && lower(c) <= 'z' }

// NameByte holds for the bytes of the name of a setting.
func NameByte(c byte) bool { return isAlpha(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
