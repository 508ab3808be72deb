package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Bounds of one settings file: strangers write those of a project. The user's own may
// be large, since agents keep histories in them.
const (
	maxSettings = 1 << 20
	maxOwn      = 16 << 20
	maxDepth    = 64
	maxNodes    = 1 << 19
)

var errMany = errors.New("too many values")

// node is a value of a settings file, with the line it stands on. JSON and TOML both
// become nodes.
type node struct {
	name string // of a member
	kind byte   // '{', '[', '"', or '0' for every other scalar, true and null included
	text string // of a scalar
	line int    // of a member: where its name stands
	kids []*node
}

// get returns the member at a path, nil if there is none. Of two members of a name
// the last counts, as it does for those who read the file.
func (n *node) get(path ...string) *node {
	for _, name := range path {
		if n == nil || n.kind != '{' {
			return nil
		}
		var found *node
		for _, k := range n.kids {
			if k.name == name {
				found = k
			}
		}
		n = found
	}
	return n
}

// all returns every value that a path leads to; "*" is any member or element.
func (n *node) all(path ...string) []*node {
	if n == nil {
		return nil
	}
	if len(path) == 0 {
		return []*node{n}
	}
	var out []*node
	if path[0] != "*" {
		if k := n.get(path[0]); k != nil {
			out = k.all(path[1:]...)
		}
		return out
	}
	for _, k := range n.kids {
		out = append(out, k.all(path[1:]...)...)
	}
	return out
}

func (n *node) isTrue() bool  { return n != nil && n.kind == '0' && n.text == "true" }
func (n *node) isFalse() bool { return n != nil && n.kind == '0' && n.text == "false" }
func (n *node) is(text string) bool {
	return n != nil && n.kind == '"' && n.text == text
}

// str is the text of a string, "" for all else.
func (n *node) str() string {
	if n == nil || n.kind != '"' {
		return ""
	}
	return n.text
}

// strs are the strings of a list; a string alone is a list of one.
func (n *node) strs() []*node {
	if n == nil {
		return nil
	}
	if n.kind == '"' {
		return []*node{n}
	}
	var out []*node
	if n.kind == '[' {
		for _, k := range n.kids {
			if k.kind == '"' {
				out = append(out, k)
			}
		}
	}
	return out
}

// parseJSON reads JSON as agents do: comments and a comma behind the last element
// are let pass.
func parseJSON(b []byte) (*node, error) {
	p := &jsonReader{in: bytes.TrimPrefix(b, []byte("\ufeff")), line: 1}
	n, err := p.value("", 0)
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
	count int
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
		skip := 1
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
		case bytes.HasPrefix(rest, []byte("//")):
			if skip = bytes.IndexByte(rest, '\n'); skip < 0 {
				skip = len(rest)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return errors.New("a comment without an end")
			}
			skip = end + 4
		default:
			return nil
		}
		p.line += bytes.Count(rest[:skip], []byte{'\n'})
		p.at += skip
	}
	return nil
}

// value reads one value. The line of a member is that of its name.
func (p *jsonReader) value(name string, line int) (*node, error) {
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.count++; p.count > maxNodes {
		return nil, errMany
	}
	if line == 0 {
		line = p.line
	}
	n := &node{name: name, line: line, kind: p.peek()}
	switch n.kind {
	case '{', '[':
		return n, p.list(n)
	case '"':
		var err error
		n.text, err = p.text()
		return n, err
	}
	start := p.at
	for p.at < len(p.in) && strings.IndexByte(" \t\r\n,]}/\":{[", p.in[p.at]) < 0 {
		p.at++
	}
	n.kind, n.text = '0', string(p.in[start:p.at])
	if !json.Valid([]byte(n.text)) {
		return nil, errors.New("no value")
	}
	return n, nil
}

// list reads an object or an array into n.
func (p *jsonReader) list(n *node) error {
	if p.deep++; p.deep > maxDepth {
		return errors.New("it nests too deep")
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
		kid, err := p.element(n.kind)
		if err != nil {
			return err
		}
		n.kids = append(n.kids, kid)
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

func (p *jsonReader) element(open byte) (*node, error) {
	if open == '[' {
		return p.value("", 0)
	}
	line := p.line
	if p.peek() != '"' {
		return nil, errors.New("no name")
	}
	name, err := p.text()
	if err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.peek() != ':' {
		return nil, errors.New("no colon")
	}
	p.at++
	return p.value(name, line)
}

// text reads a string from its first quote on.
func (p *jsonReader) text() (string, error) {
	start := p.at
	for p.at++; p.at < len(p.in); p.at++ {
		switch p.in[p.at] {
		case '\\':
			p.at++
		case '\n':
			return "", errors.New("a string without an end")
		case '"':
			p.at++
			var s string
			err := json.Unmarshal(p.in[start:p.at], &s)
			return s, err
		}
	}
	return "", errors.New("a string without an end")
}
