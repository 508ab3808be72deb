package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// MaxGitBytes bounds one file; those who read files keep to it.
	MaxGitBytes = 1 << 20
	// MaxGitEntries bounds the settings of one file.
	MaxGitEntries = 20000
)

// GitEntry is one setting. Section and name are lower case, a subsection keeps its case:
// "includeif.gitdir:~/work/.path".
type GitEntry struct {
	Key   string
	Value string
	Bare  bool // written without "=", which git reads as true
	Line  int
}

// Section is the first part of the key.
func (e GitEntry) Section() string { s, _, _ := strings.Cut(e.Key, "."); return s }

// Name is the last part of the key.
func (e GitEntry) Name() string { return e.Key[strings.LastIndexByte(e.Key, '.')+1:] }

// Sub is what stands between the two. It may have dots of its own.
func (e GitEntry) Sub() (string, bool) {
	first, last := strings.IndexByte(e.Key, '.'), strings.LastIndexByte(e.Key, '.')
	if first >= last {
		return "", false
	}
	return e.Key[first+1 : last], true
}

// IsTrue reports whether git takes the value for true.
func (e GitEntry) IsTrue() bool {
	return e.Bare || slices.Contains([]string{"true", "yes", "on", "1"}, strings.ToLower(e.Value))
}

// IsFalse reports whether git takes the value for false.
func (e GitEntry) IsFalse() bool {
	return !e.Bare && slices.Contains([]string{"false", "no", "off", "0"}, strings.ToLower(e.Value))
}

// Same compares what two entries say, wherever they stand.
func (e GitEntry) Same(o GitEntry) bool {
	return e.Key == o.Key && e.Value == o.Value && e.Bare == o.Bare
}

// ParseGit reads a file. It refuses what git refuses, and NUL bytes, keys without a section
// and sections whose name is empty or begins with a dot: git takes those and never writes
// them, and no rule could name them.
func ParseGit(b []byte) ([]GitEntry, error) {
	entries, err := ParseGitPart(b)
	if err != nil {
		return nil, err
	}
	return entries, nil
}

// ParseGitPart is the same, and returns beside an error what stands before it.
func ParseGitPart(b []byte) ([]GitEntry, error) {
	p := &gitParser{in: strings.TrimPrefix(string(b), "\ufeff"), line: 1}
	entries, err := p.file()
	if err != nil {
		return entries, fmt.Errorf("line %d: %w", p.at, err)
	}
	return entries, nil
}

type gitParser struct {
	in   string
	pos  int
	line int // of the next character
	at   int // of the last one, for errors
	eof  bool
}

// next returns the next character; CRLF counts as a newline, and so does the end.
func (p *gitParser) next() byte {
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

func (p *gitParser) file() ([]GitEntry, error) {
	if strings.ContainsRune(p.in, 0) {
		return nil, errors.New("a NUL byte")
	}
	var entries []GitEntry
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
			if len(entries) == MaxGitEntries {
				return entries, fmt.Errorf("more than %d settings", MaxGitEntries)
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

func (p *gitParser) skipLine() {
	for p.next() != '\n' {
	}
}

// section reads what follows "[".
func (p *gitParser) section() (string, error) {
	var name strings.Builder
	for {
		c := p.next()
		switch {
		case c == ']' && name.Len() > 0:
			return name.String(), nil
		case c != '\n' && isSpace(c) && name.Len() > 0:
			sub, err := p.subsection()
			return name.String() + "." + sub, err
		case GitNameByte(c) || c == '.' && name.Len() > 0:
			name.WriteByte(lower(c))
		default:
			return "", errors.New("not the name of a section")
		}
	}
}

// subsection reads what follows the name of a section: "sub"].
func (p *gitParser) subsection() (string, error) {
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
func (p *gitParser) entry(section string, c byte) (GitEntry, error) {
	e := GitEntry{Line: p.at}
	var name strings.Builder
	for GitNameByte(c) {
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

func (p *gitParser) value() (string, error) {
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

func (p *gitParser) escape(v *strings.Builder) error {
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

// GitNameByte holds for the bytes of the name of a setting.
func GitNameByte(c byte) bool { return isAlpha(c) || '0' <= c && c <= '9' || c == '-' }

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
