package hostexec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxDepth bounds how deep settings nest.
const maxDepth = 64

// jsonSettings reads JSON as editors do: comments and a comma behind the last
// element are let pass. A name that is there twice is told twice, so nothing hides
// behind another reading.
func jsonSettings(b []byte) ([]setting, error) {
	p := &jsonReader{in: bytes.TrimPrefix(b, []byte("\ufeff")), line: 1}
	if err := OneReading(p.in); err != nil {
		return nil, err
	}
	err := p.value(nil)
	if err == nil {
		if err = p.space(); err == nil && p.at < len(p.in) {
			err = errors.New("something follows the value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("line %d: %w", p.line, err)
	}
	return p.out, nil
}

type jsonReader struct {
	in   []byte
	at   int
	line int
	deep int
	out  []setting
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
			if n := bytes.IndexByte(rest, '\n'); n >= 0 {
				p.at += n
			} else {
				p.at = len(p.in)
			}
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

func (p *jsonReader) value(names []string) error {
	if err := p.space(); err != nil {
		return err
	}
	switch c := p.peek(); c {
	case '{', '[':
		return p.list(names, c)
	case '"':
		line := p.line
		s, err := p.text()
		if err != nil {
			return err
		}
		return p.leaf(names, s, line)
	}
	start := p.at
	for p.at < len(p.in) && !strings.ContainsRune(" \t\r\n,]}/\":{[", rune(p.in[p.at])) {
		p.at++
	}
	word := p.in[start:p.at]
	if !json.Valid(word) {
		return errors.New("no value")
	}
	return p.leaf(names, string(word), p.line)
}

// list reads an object or an array. Elements of an array have its name.
func (p *jsonReader) list(names []string, open byte) error {
	if p.deep++; p.deep > maxDepth {
		return errDeep
	}
	defer func() { p.deep-- }()
	p.at++
	shut := open + 2 // '[' and ']', '{' and '}' are two apart
	for n := 0; ; n++ {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == shut {
			p.at++
			if n == 0 {
				return p.leaf(names, "", p.line)
			}
			return nil
		}
		if err := p.element(names, open); err != nil {
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

func (p *jsonReader) element(names []string, open byte) error {
	if open == '[' {
		return p.value(names)
	}
	if p.peek() != '"' {
		return errors.New("no name")
	}
	name, err := p.text()
	if err != nil {
		return err
	}
	if err := p.space(); err != nil {
		return err
	}
	if p.peek() != ':' {
		return errors.New("no colon")
	}
	p.at++
	return p.value(append(names[:len(names):len(names)], name))
}

// text reads a string from its first quote on.
func (p *jsonReader) text() (string, error) {
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

func (p *jsonReader) leaf(names []string, value string, line int) error {
	if len(p.out) == maxSettings {
		return errMany
	}
	key := strings.Join(names, ".")
	p.out = append(p.out, setting{key: fold(key), shown: key, value: value, line: line})
	return nil
}
