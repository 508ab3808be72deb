package login

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds how deep a document is.
const maxDepth = 16

// document is a JSON object whose values are found by name and changed in place:
// every byte that is not part of a changed value stays.
type document struct {
	text []byte
	root *node
}

// node is a value: where it stands, and its members when it is an object.
type node struct {
	start, end int
	members    map[string]*node // nil: not an object
}

// parseDocument is strict: one object, valid text, no name twice.
func parseDocument(text []byte) (*document, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8")
	}
	if !json.Valid(text) {
		return nil, syntaxError(text)
	}
	p := parser{text: text, dec: json.NewDecoder(bytes.NewReader(text))}
	p.dec.UseNumber()
	root, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if root.members == nil {
		return nil, errors.New("line 1: not an object")
	}
	return &document{text, root}, nil
}

// syntaxError names the line. It quotes nothing: what is there may be a secret.
func syntaxError(text []byte) error {
	var v json.RawMessage
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(text, &v), &syntax) {
		at := min(int(syntax.Offset), len(text))
		return fmt.Errorf("line %d: not JSON", 1+bytes.Count(text[:at], []byte("\n")))
	}
	return errors.New("not JSON")
}

// parser walks a text that is known to be valid.
type parser struct {
	text []byte
	dec  *json.Decoder
}

// at is where the next value starts.
func (p *parser) at() int {
	i := int(p.dec.InputOffset())
	for i < len(p.text) && bytes.IndexByte([]byte(" \t\r\n:,"), p.text[i]) >= 0 {
		i++
	}
	return i
}

func (p *parser) value(depth int) (*node, error) {
	n := &node{start: p.at()}
	if depth > maxDepth {
		return nil, fmt.Errorf("line %d: too deep", p.line(n.start))
	}
	t, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t {
	case json.Delim('{'):
		n.members = map[string]*node{}
		err = p.object(n, depth)
	case json.Delim('['):
		err = p.array(depth)
	}
	n.end = int(p.dec.InputOffset())
	return n, err
}

func (p *parser) object(n *node, depth int) error {
	for p.dec.More() {
		at := p.at()
		t, err := p.dec.Token()
		if err != nil {
			return err
		}
		key, _ := t.(string)
		if n.members[key] != nil {
			return fmt.Errorf("line %d: a name that was there before", p.line(at))
		}
		if n.members[key], err = p.value(depth + 1); err != nil {
			return err
		}
	}
	_, err := p.dec.Token()
	return err
}

func (p *parser) array(depth int) error {
	for p.dec.More() {
		if _, err := p.value(depth + 1); err != nil {
			return err
		}
	}
	_, err := p.dec.Token()
	return err
}

func (p *parser) line(at int) int { return 1 + bytes.Count(p.text[:at], []byte("\n")) }

// find returns the value at a path, nil when there is none.
func (d *document) find(path ...string) *node {
	n := d.root
	for _, name := range path {
		if n = n.members[name]; n == nil {
			return nil
		}
	}
	return n
}

// str reads a string; null and a missing one are "".
func (d *document) str(path ...string) (string, error) {
	var s *string
	n := d.find(path...)
	if n == nil {
		return "", nil
	}
	if err := json.Unmarshal(d.text[n.start:n.end], &s); err != nil {
		return "", d.wrong(n, path, "a string")
	}
	if s == nil {
		return "", nil
	}
	return *s, nil
}

// strs reads a list of strings.
func (d *document) strs(path ...string) ([]string, error) {
	n := d.find(path...)
	if n == nil {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal(d.text[n.start:n.end], &list); err != nil {
		return nil, d.wrong(n, path, "a list of strings")
	}
	return list, nil
}

// number reads a whole number; null and a missing one are 0. JavaScript may have
// written it with a fraction.
func (d *document) number(path ...string) (int64, error) {
	n := d.find(path...)
	if n == nil || string(d.text[n.start:n.end]) == "null" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(string(d.text[n.start:n.end]), 64)
	if err != nil || f < 0 || f > 1<<53 {
		return 0, d.wrong(n, path, "a number")
	}
	return int64(f), nil
}

func (d *document) wrong(n *node, path []string, want string) error {
	line := 1 + bytes.Count(d.text[:n.start], []byte("\n"))
	return fmt.Errorf("line %d: %q is not %s", line, path[len(path)-1], want)
}

// edit is a member to set.
type edit struct {
	path  []string
	value any
}

// splice is a stretch of the text and what takes its place.
type splice struct {
	start, end int
	text       []byte
}

// apply returns the text with members set. A missing one is put at the head of its
// parent; a missing parent is an error, for a login whose shape is another.
func (d *document) apply(edits []edit) ([]byte, error) {
	var splices []splice
	filled := map[*node]bool{}
	for _, e := range edits {
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		name := e.path[len(e.path)-1]
		parent := d.find(e.path[:len(e.path)-1]...)
		if parent == nil || parent.members == nil {
			return nil, fmt.Errorf("no object for %q", name)
		}
		if n := parent.members[name]; n != nil {
			splices = append(splices, splice{n.start, n.end, value})
			continue
		}
		splices = append(splices, parent.insert(name, value, filled[parent]))
		filled[parent] = true
	}
	slices.SortStableFunc(splices, func(a, b splice) int { return a.start - b.start })
	var out []byte
	at := 0
	for _, s := range splices {
		out = append(append(out, d.text[at:s.start]...), s.text...)
		at = s.end
	}
	return append(out, d.text[at:]...), nil
}

// insert puts a member right behind the brace, or behind one that was put there.
func (n *node) insert(name string, value []byte, second bool) splice {
	text := fmt.Appendf(nil, "%q:%s", name, value)
	switch {
	case len(n.members) > 0:
		text = append(text, ',')
	case second:
		text = append([]byte(","), text...)
	}
	return splice{n.start + 1, n.start + 1, text}
}
