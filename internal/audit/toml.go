package audit

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// parseTOML reads TOML into nodes. The parser below the decoder is used because only
// that one knows the line of every value; the decoder is asked whether the whole is
// TOML at all.
func parseTOML(b []byte) (root *node, err error) {
	var any map[string]any
	if err := toml.Unmarshal(b, &any); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ := at.Position()
			return nil, fmt.Errorf("line %d: not TOML", line)
		}
		return nil, errors.New("not TOML")
	}
	r := tomlReader{in: b}
	root = &node{kind: '{', line: 1}
	table := root
	r.parser.Reset(b)
	for r.parser.NextExpression() {
		e := r.parser.Expression()
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table, err = r.reach(root, e.Key(), e.Kind == unstable.ArrayTable)
		case unstable.KeyValue:
			err = r.assign(table, e, 0)
		}
		if err != nil {
			return nil, err
		}
	}
	return root, r.parser.Error()
}

type tomlReader struct {
	in     []byte
	parser unstable.Parser
	count  int
}

func (r *tomlReader) line(offset uint32) int {
	return 1 + bytes.Count(r.in[:min(int(offset), len(r.in))], []byte{'\n'})
}

// reach goes down from a table by the parts of a key and makes what is not there.
// A list of tables is a list of objects: the last one is meant.
func (r *tomlReader) reach(n *node, key unstable.Iterator, list bool) (*node, error) {
	for key.Next() {
		part := key.Node()
		next := n.get(string(part.Data))
		if next == nil {
			if r.count++; r.count > maxNodes {
				return nil, errMany
			}
			next = &node{name: string(part.Data), kind: '{', line: r.line(part.Raw.Offset)}
			if list && key.IsLast() {
				next.kind = '['
			}
			n.kids = append(n.kids, next)
		}
		if list && key.IsLast() {
			next.kids = append(next.kids, &node{kind: '{', line: r.line(part.Raw.Offset)})
		}
		if next.kind == '[' && len(next.kids) > 0 {
			next = next.kids[len(next.kids)-1]
		}
		n = next
	}
	return n, nil
}

// assign puts one key and its value into a table.
func (r *tomlReader) assign(table *node, e *unstable.Node, deep int) error {
	key := e.Key()
	var last *unstable.Node
	for key.Next() {
		part := key.Node()
		if key.IsLast() {
			last = part
			break
		}
		next := table.get(string(part.Data))
		if next == nil {
			next = &node{name: string(part.Data), kind: '{', line: r.line(part.Raw.Offset)}
			table.kids = append(table.kids, next)
		}
		table = next
	}
	if last == nil {
		return errors.New("a value without a key")
	}
	v, err := r.value(e.Value(), r.line(last.Raw.Offset), deep)
	if err != nil {
		return err
	}
	v.name = string(last.Data)
	table.kids = append(table.kids, v)
	return nil
}

func (r *tomlReader) value(v *unstable.Node, line, deep int) (*node, error) {
	if r.count++; r.count > maxNodes {
		return nil, errMany
	}
	if deep > maxDepth {
		return nil, errors.New("it nests too deep")
	}
	n := &node{kind: '0', text: string(v.Data), line: line}
	switch v.Kind {
	case unstable.String:
		n.kind = '"'
	case unstable.Array:
		n.kind, n.text = '[', ""
		for it := v.Children(); it.Next(); {
			at := line
			if raw := it.Node().Raw; raw.Length > 0 {
				at = r.line(raw.Offset)
			}
			kid, err := r.value(it.Node(), at, deep+1)
			if err != nil {
				return nil, err
			}
			n.kids = append(n.kids, kid)
		}
	case unstable.InlineTable:
		n.kind, n.text = '{', ""
		for it := v.Children(); it.Next(); {
			if err := r.assign(n, it.Node(), deep+1); err != nil {
				return nil, err
			}
		}
	}
	return n, nil
}
