package login

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/file/settings"
)

// form is JSON without comments, in which no name is there twice.
var form = settings.Rules{Once: true, Depth: 16, Nodes: maxFile}

// document is a JSON object whose values are found by name and changed in place:
// every byte that is not part of a changed value stays.
type document struct {
	text []byte
	root *settings.Node
}

// parseDocument is strict: one object, valid text, no name twice.
func parseDocument(text []byte) (*document, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("not UTF-8")
	}
	root, err := form.JSON(text)
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if root.Kind != settings.Object {
		return nil, errors.New("line 1: not an object")
	}
	return &document{text, root}, nil
}

// str reads a string; null and a missing one are "".
func (d *document) str(path ...string) (string, error) {
	var s *string
	n := d.root.Get(path...)
	if n == nil {
		return "", nil
	}
	if err := json.Unmarshal(d.text[n.Start:n.End], &s); err != nil {
		return "", d.wrong(n, path, "a string")
	}
	if s == nil {
		return "", nil
	}
	return *s, nil
}

// strs reads a list of strings.
func (d *document) strs(path ...string) ([]string, error) {
	n := d.root.Get(path...)
	if n == nil {
		return nil, nil
	}
	var list []string
	if err := json.Unmarshal(d.text[n.Start:n.End], &list); err != nil {
		return nil, d.wrong(n, path, "a list of strings")
	}
	return list, nil
}

// number reads a whole number; null and a missing one are 0. JavaScript may have
// written it with a fraction.
func (d *document) number(path ...string) (int64, error) {
	n := d.root.Get(path...)
	if n == nil || string(d.text[n.Start:n.End]) == "null" {
		return 0, nil
	}
	f, err := strconv.ParseFloat(string(d.text[n.Start:n.End]), 64)
	if err != nil || f < 0 || f > 1<<53 {
		return 0, d.wrong(n, path, "a number")
	}
	return int64(f), nil
}

func (d *document) wrong(n *settings.Node, path []string, want string) error {
	return fmt.Errorf("line %d: %q is not %s", n.Line, path[len(path)-1], want)
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
	filled := map[*settings.Node]bool{}
	for _, e := range edits {
		value, err := json.Marshal(e.value)
		if err != nil {
			return nil, err
		}
		name := e.path[len(e.path)-1]
		parent := d.root.Get(e.path[:len(e.path)-1]...)
		if parent == nil || parent.Kind != settings.Object {
			return nil, fmt.Errorf("no object for %q", name)
		}
		if n := parent.Get(name); n != nil {
			splices = append(splices, splice{n.Start, n.End, value})
			continue
		}
		splices = append(splices, insert(parent, name, value, filled[parent]))
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
func insert(n *settings.Node, name string, value []byte, second bool) splice {
	text := fmt.Appendf(nil, "%q:%s", name, value)
	switch {
	case len(n.Kids) > 0:
		text = append(text, ',')
	case second:
		text = append([]byte(","), text...)
	}
	return splice{n.Start + 1, n.Start + 1, text}
}
