package policyimport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readJSON reads JSON with comments and a comma behind the last element, which the
// tools let pass, and nothing else besides. A name that stands twice is an error: two
// readers would take two values.
func readJSON(data []byte) ([]leaf, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("larger than %d KiB", maxBytes>>10)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	p := &jsonReader{in: bytes.TrimPrefix(data, []byte("\ufeff")), line: 1}
	err := p.value(nil, "", 0)
	if err == nil {
		if err = p.space(); err == nil && p.pos < len(p.in) {
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
	pos  int
	line int
	out  []leaf
}

func (p *jsonReader) peek() byte {
	if p.pos < len(p.in) {
		return p.in[p.pos]
	}
	return 0
}

// space skips white space and comments.
func (p *jsonReader) space() error {
	for p.pos < len(p.in) {
		rest := p.in[p.pos:]
		n := 1
		switch {
		case rest[0] == ' ', rest[0] == '\t', rest[0] == '\r', rest[0] == '\n':
		case bytes.HasPrefix(rest, []byte("//")):
			if n = bytes.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end := bytes.Index(rest[2:], []byte("*/"))
			if end < 0 {
				return errors.New("a comment without an end")
			}
			n = end + 4
		default:
			return nil
		}
		p.line += bytes.Count(rest[:n], []byte{'\n'})
		p.pos += n
	}
	return nil
}

func (p *jsonReader) add(path []string, key string, k kind, value string) error {
	if len(p.out) >= maxLeaves {
		return fmt.Errorf("more than %d values", maxLeaves)
	}
	if len(value) > maxValue || len(key) > maxValue {
		return fmt.Errorf("a value of more than %d bytes", maxValue)
	}
	p.out = append(p.out, leaf{path: append([]string(nil), path...), key: key, kind: k, text: value, line: p.line})
	return nil
}

func (p *jsonReader) value(path []string, key string, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nested more than %d deep", maxDepth)
	}
	if err := p.space(); err != nil {
		return err
	}
	switch c := p.peek(); {
	case c == '{':
		return p.object(path, key, depth)
	case c == '[':
		return p.list(path, key, depth)
	case c == '"':
		s, err := p.str()
		if err != nil {
			return err
		}
		return p.add(path, key, text, s)
	}
	start := p.pos
	for p.pos < len(p.in) && !bytes.ContainsRune([]byte(" \t\r\n,]}/"), rune(p.in[p.pos])) {
		p.pos++
	}
	word := string(p.in[start:p.pos])
	switch {
	case word == "true" || word == "false":
		return p.add(path, key, flag, word)
	case word == "null":
		return p.add(path, key, null, word)
	case word != "" && json.Valid([]byte(word)):
		return p.add(path, key, number, word)
	case word == "" && p.pos == len(p.in):
		return errors.New("it ends too early")
	}
	return fmt.Errorf("%q is no value", word+string(p.in[p.pos:min(p.pos+1, len(p.in))]))
}

func (p *jsonReader) object(path []string, key string, depth int) error {
	seen := map[string]bool{}
	n := 0
	err := p.members('}', func() error {
		if p.peek() != '"' {
			return errors.New("a name in quotes is missing")
		}
		name, err := p.str()
		if err != nil {
			return err
		}
		if seen[name] {
			return fmt.Errorf("the name %q stands there twice", name)
		}
		seen[name] = true
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() != ':' {
			return fmt.Errorf("a colon is missing behind %q", name)
		}
		p.pos++
		n++
		return p.value(append(path, name), joinKey(key, name), depth+1)
	})
	if err == nil && n == 0 {
		err = p.add(path, key, empty, "{}")
	}
	return err
}

func (p *jsonReader) list(path []string, key string, depth int) error {
	n := 0
	err := p.members(']', func() error {
		n++
		return p.value(path, key+"["+strconv.Itoa(n-1)+"]", depth+1)
	})
	if err == nil && n == 0 {
		err = p.add(path, key, empty, "[]")
	}
	return err
}

// members reads what stands between brackets, with commas between.
func (p *jsonReader) members(end byte, each func() error) error {
	p.pos++
	for {
		if err := p.space(); err != nil {
			return err
		}
		if p.peek() == end {
			p.pos++
			return nil
		}
		if err := each(); err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		switch p.peek() {
		case ',':
			p.pos++
		case end:
		default:
			return fmt.Errorf("a comma or %q is missing", end)
		}
	}
}

// str reads a string.
func (p *jsonReader) str() (string, error) {
	for i := p.pos + 1; i < len(p.in); i++ {
		switch p.in[i] {
		case '\\':
			i++
		case '"':
			var s string
			if err := json.Unmarshal(p.in[p.pos:i+1], &s); err != nil {
				return "", errors.New("a string is not well formed")
			}
			p.pos = i + 1
			return s, nil
		case '\n':
			return "", errors.New("a string without an end")
		}
	}
	return "", errors.New("a string without an end")
}

// joinKey is how people are told of a key: what is not a plain one is quoted, and
// stays on one line.
func joinKey(key, name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" || name == "" {
		name = strconv.QuoteToASCII(name)
	}
	if key == "" {
		return name
	}
	return key + "." + name
}
