package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

var mark = []byte("\ufeff")

// JSON reads one value and what may stand around it.
func (r Rules) JSON(text []byte) (*Node, error) {
	p := &reader{Rules: r, in: text, lines: linesOf(text)}
	if r.Comments && bytes.HasPrefix(text, mark) {
		p.at = len(mark)
	}
	if r.OneReading {
		if err := OneReading(text[p.at:]); err != nil {
			return nil, err
		}
	}
	n, err := p.document()
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", p.lines.of(p.at), err)
	}
	return n, nil
}

type reader struct {
	Rules
	in    []byte
	at    int
	lines lines
	deep  int
	nodes int
}

func (p *reader) document() (*Node, error) {
	if err := p.space(); err != nil {
		return nil, err
	}
	n := &Node{At: p.at}
	if err := p.value(n); err != nil {
		return nil, err
	}
	if err := p.space(); err != nil {
		return nil, err
	}
	if p.at < len(p.in) {
		return nil, errors.New("something follows the value")
	}
	return n, nil
}

func (p *reader) peek() byte {
	if p.at < len(p.in) {
		return p.in[p.at]
	}
	return 0
}

// space skips white space and comments.
func (p *reader) space() error {
	for p.at < len(p.in) {
		rest := p.in[p.at:]
		switch {
		case strings.IndexByte(" \t\r\n", rest[0]) >= 0:
			p.at++
		case !p.Comments:
			return nil
		case bytes.HasPrefix(rest, []byte("//")):
			end := bytes.IndexByte(rest, '\n') + 1
			if end == 0 {
				end = len(rest)
			}
			if _, _, strange := strangeAt(rest[:end]); strange {
				return errors.New("a comment that ends in another place for other readers")
			}
			p.at += end
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return errors.New("a comment without an end")
			}
			p.at += end + 4
		default:
			return nil
		}
	}
	return nil
}

// value reads into n what stands at hand. If n has a name, that was read before.
func (p *reader) value(n *Node) error {
	if p.nodes++; p.nodes > p.Nodes {
		return errMany
	}
	n.Line, n.Start = p.lines.of(n.At), p.at
	var err error
	switch c := p.peek(); c {
	case '{', '[':
		n.Kind = Kind(c)
		err = p.list(n)
	case '"':
		n.Kind = String
		n.Text, err = p.text()
	default:
		for p.at < len(p.in) && strings.IndexByte(" \t\r\n,]}/\":{[", p.in[p.at]) < 0 {
			p.at++
		}
		word := p.in[n.Start:p.at]
		if n.Text = string(word); !json.Valid(word) {
			p.at = n.Start
			return errors.New("no value")
		}
	}
	n.End = p.at
	return err
}

// list reads an object or a list into n.
func (p *reader) list(n *Node) error {
	if p.deep++; p.deep > p.Depth {
		return errDeep
	}
	defer func() { p.deep-- }()
	p.at++
	shut := byte(n.Kind) + 2 // '[' and ']', '{' and '}' are two apart
	var names map[string]bool
	if p.Once && n.Kind == Object {
		names = map[string]bool{}
	}
	for comma := true; ; {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == shut && (p.Comments || !comma || len(n.Kids) == 0) {
			p.at++
			return nil
		}
		if !comma {
			return errors.New("neither a comma nor an end")
		}
		kid := &Node{At: p.at}
		if err := p.element(n.Kind, kid, names); err != nil {
			return err
		}
		n.Kids = append(n.Kids, kid)
		if err := p.space(); err != nil {
			return err
		}
		if comma = p.peek() == ','; comma {
			p.at++
		}
	}
}

// element reads one, in an object with its name. names are those that were there before,
// if that counts.
func (p *reader) element(in Kind, kid *Node, names map[string]bool) error {
	if in == Array {
		return p.value(kid)
	}
	if p.peek() != '"' {
		return errors.New("no name")
	}
	var err error
	if kid.Name, err = p.text(); err != nil {
		return err
	}
	kid.NameEnd = p.at
	if names[kid.Name] {
		return errors.New("a name that was there before")
	}
	if names != nil {
		names[kid.Name] = true
	}
	if err := p.space(); err != nil {
		return err
	}
	if p.peek() != ':' {
		return errors.New("no colon")
	}
	p.at++
	if err := p.space(); err != nil {
		return err
	}
	return p.value(kid)
}

// text reads a string from its first quote on.
func (p *reader) text() (string, error) {
	start, plain := p.at, true
	for at := p.at + 1; at < len(p.in); at++ {
		switch c := p.in[at]; {
		case c == '"':
			p.at = at + 1
			if plain {
				return string(p.in[start+1 : at]), nil
			}
			var s string
			if json.Unmarshal(p.in[start:p.at], &s) != nil {
				return "", errors.New("a string that is not well formed")
			}
			return s, nil
		case c == '\\':
			plain = false
			at++
		case c < ' ':
			p.at = at
			return "", errors.New("a control character in a string")
		case c >= 0x80:
			plain = false
		}
	}
	return "", errors.New("a string without an end")
}
