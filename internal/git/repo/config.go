package repo

import (
	"fmt"
	"strings"
)

// maxConfig bounds one git config file.
const maxConfig = 1 << 20

// Entry is one setting of a git config file. Section and name are lower case, a
// subsection keeps its case: "includeif.gitdir:~/work/.path".
type Entry struct {
	Key   string
	Value string
	bare  bool // written without "=", which git reads as true
}

func (e Entry) isTrue() bool {
	switch strings.ToLower(e.Value) {
	case "true", "yes", "on", "1":
		return true
	}
	return e.bare
}

// parseConfig reads git's config syntax. It follows git's reader, and is
// stricter in refusing NUL bytes and empty section names.
func parseConfig(b []byte) ([]Entry, error) {
	entries, err := readConfig(b)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// readConfig is the same, and returns beside an error what stands before it.
func readConfig(b []byte) ([]Entry, error) {
	p := &configParser{in: strings.TrimPrefix(string(b), "\ufeff"), line: 1}
	entries, err := p.file()
	if err != nil {
		return entries, fmt.Errorf("line %d: %w", p.at, err)
	}
	return entries, nil
}

type configParser struct {
	in   string
	pos  int
	line int // of the next character
	at   int // of the last one, for errors
	eof  bool
}

// next returns the next character; CRLF counts as a newline, and so does the end.
func (p *configParser) next() byte {
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

func (p *configParser) file() ([]Entry, error) {
	if strings.ContainsRune(p.in, 0) {
		return nil, fmt.Errorf("NUL byte")
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
			e, err := p.entry(section, c)
			if err != nil {
				return entries, err
			}
			entries = append(entries, e)
		default:
			return entries, fmt.Errorf("expected a section or a key")
		}
	}
}

func (p *configParser) skipLine() {
	for p.next() != '\n' {
	}
}

// section reads what follows "[".
func (p *configParser) section() (string, error) {
	var name strings.Builder
	for {
		c := p.next()
		switch {
		case c == ']' && name.Len() > 0:
			return name.String(), nil
		case c != '\n' && isSpace(c) && name.Len() > 0:
			sub, err := p.subsection()
			return name.String() + "." + sub, err
		case isKeyChar(c) || c == '.':
			name.WriteByte(lower(c))
		default:
			return "", fmt.Errorf("malformed section header")
		}
	}
}

// subsection reads what follows the name of a section: "sub"].
func (p *configParser) subsection() (string, error) {
	bad := fmt.Errorf("malformed subsection")
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
func (p *configParser) entry(section string, c byte) (Entry, error) {
	var name strings.Builder
	for isKeyChar(c) {
		name.WriteByte(lower(c))
		c = p.next()
	}
	for c == ' ' || c == '\t' {
		c = p.next()
	}
	e := Entry{Key: section + "." + name.String()}
	if c == '\n' {
		e.bare = true
		return e, nil
	}
	if c != '=' {
		return e, fmt.Errorf("expected = after the key")
	}
	var err error
	e.Value, err = p.value()
	return e, err
}

func (p *configParser) value() (string, error) {
	var v strings.Builder
	quoted, spaces := false, 0
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", fmt.Errorf("quote is not closed")
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

func (p *configParser) escape(v *strings.Builder) error {
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
		return fmt.Errorf("unknown escape")
	}
	return nil
}

func isSpace(c byte) bool   { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
func isAlpha(c byte) bool   { return 'a' <= lower(c) && lower(c) <= 'z' }
func isKeyChar(c byte) bool { return isAlpha(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
