package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/file/settings"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// node is one value of a settings file, whatever its form. A table keeps the order
// of its members and also those of the same name, so that nothing hides behind
// another reading.
type node struct {
	kind    byte // '{', '[', '"' for text, 0 for a bare word
	members []member
	items   []*node
	text    string // decoded, or the word
	line    int
}

type member struct {
	name  string
	line  int
	value *node
}

// These bound what is read of one file.
const (
	maxDepth = 64
	maxNodes = 20_000
)

var (
	errDeep = errors.New("nested too deep")
	errMany = errors.New("too many settings")
)

// parseJSON reads JSON as agents and editors do: comments and a comma behind the
// last element are let pass. Who reads none of that reads nothing at all.
func parseJSON(data []byte) (*node, error) {
	p := &jsonReader{in: bytes.TrimPrefix(data, []byte("\ufeff")), line: 1}
	if err := settings.OneReading(p.in); err != nil {
		return nil, err
	}
	n, err := p.value()
	if err == nil {
		if err = p.space(); err == nil && p.at < len(p.in) {
			err = errors.New("something follows the value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	return n, nil
}

type jsonReader struct {
	in    []byte
	at    int
	line  int
	deep  int
	nodes int
}

func (p *jsonReader) peek() byte {
	if p.at < len(p.in) {
		return p.in[p.at]
	}
	return 0
}

// space skips white space and comments.
func (p *jsonReader) space() error {
	for p.at < len(p.in) {
		rest := p.in[p.at:]
		switch {
		case rest[0] == '\n':
			p.line++
			p.at++
		case rest[0] == ' ', rest[0] == '\t', rest[0] == '\r':
			p.at++
		case bytes.HasPrefix(rest, []byte("//")):
			n := bytes.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			p.at += n
		case bytes.HasPrefix(rest, []byte("/*")):
			n := bytes.Index(rest[2:], []byte("*/"))
			if n < 0 {
				return errors.New("a comment without an end")
			}
			p.line += bytes.Count(rest[:n+4], []byte{'\n'})
			p.at += n + 4
		default:
			return nil
		}
	}
	return nil
}

func (p *jsonReader) value() (*node, error) {
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.nodes++; p.nodes > maxNodes {
		return nil, errMany
	}
	n := &node{line: p.line}
	var err error
	switch c := p.peek(); c {
	case '{', '[':
		n.kind = c
		err = p.list(n)
		return n, err
	case '"':
		n.kind = '"'
		n.text, err = p.string()
		return n, err
	}
	start := p.at
	for p.at < len(p.in) && !strings.ContainsRune(" \t\r\n,]}/\":{[", rune(p.in[p.at])) {
		p.at++
	}
	if n.text = string(p.in[start:p.at]); !json.Valid([]byte(n.text)) {
		return nil, errors.New("no value")
	}
	return n, nil
}

func (p *jsonReader) list(n *node) error {
	if p.deep++; p.deep > maxDepth {
		return errDeep
	}
	defer func() { p.deep-- }()
	p.at++
	shut := n.kind + 2 // '[' and ']', '{' and '}' are two apart
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == shut {
			p.at++
			return nil
		}
		if err := p.element(n); err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			p.at++
		case shut:
		default:
			return errors.New("neither a comma nor an end")
		}
	}
}

func (p *jsonReader) element(n *node) error {
	if n.kind == '[' {
		v, err := p.value()
		n.items = append(n.items, v)
		return err
	}
	m := member{line: p.line}
	if p.peek() != '"' {
		return errors.New("no name")
	}
	var err error
	if m.name, err = p.string(); err != nil {
		return err
	}
	if err = nameReads(m.name); err != nil {
		return err
	}
	if err = p.space(); err != nil {
		return err
	}
	if p.peek() != ':' {
		return errors.New("no colon")
	}
	p.at++
	m.value, err = p.value()
	n.members = append(n.members, m)
	return err
}

// string reads one from its first quote on.
func (p *jsonReader) string() (string, error) {
	start := p.at
	for p.at++; p.at < len(p.in); p.at++ {
		switch p.in[p.at] {
		case '\\':
			p.at++
		case '"':
			p.at++
			var s string
			err := json.Unmarshal(p.in[start:p.at], &s)
			return s, err
		}
	}
	return "", errors.New("a string without an end")
}

// renderJSON writes what is left of a file: plain JSON, without comments.
func renderJSON(n *node) []byte {
	var b bytes.Buffer
	writeJSON(&b, n, "\n")
	b.WriteByte('\n')
	return b.Bytes()
}

func writeJSON(b *bytes.Buffer, n *node, line string) {
	switch n.kind {
	case 0:
		b.WriteString(n.text)
	case '"':
		b.Write(quoteJSON(n.text))
	case '[':
		b.WriteByte('[')
		for i, v := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(line + "  ")
			writeJSON(b, v, line+"  ")
		}
		if len(n.items) > 0 {
			b.WriteString(line)
		}
		b.WriteByte(']')
	case '{':
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(line + "  ")
			b.Write(quoteJSON(m.name))
			b.WriteString(": ")
			writeJSON(b, m.value, line+"  ")
		}
		if len(n.members) > 0 {
			b.WriteString(line)
		}
		b.WriteByte('}')
	}
}

func quoteJSON(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

var errName = errors.New("a name with characters that nobody sees")

// nameReads refuses names that a reader could take for others.
func nameReads(name string) error {
	for _, r := range name {
		if r == utf8.RuneError || hostexec.Invisible(r) {
			return errName
		}
	}
	return nil
}
