package settings

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// TOML reads a file of TOML into a tree, and returns beside it what the tree was made of.
// The decoder says what is there; the parser below it says only where, because it alone
// knows that. Members are in the order of their names.
func (r Rules) TOML(text []byte) (*Node, map[string]any, error) {
	if bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'})+bytes.Count(text, []byte{'.'}) > r.Nodes {
		return nil, nil, errMany
	}
	if r.OneReading {
		if err := OneReading(text); err != nil {
			return nil, nil, err
		}
	}
	var all map[string]any
	if err := toml.Unmarshal(text, &all); err != nil {
		var at *toml.DecodeError
		if errors.As(err, &at) {
			line, _ := at.Position()
			return nil, nil, fmt.Errorf("line %d: not TOML", line)
		}
		return nil, nil, errors.New("not TOML")
	}
	t := &tomlReader{Rules: r, lines: linesOf(text)}
	n, err := t.node(all, placesOf(text), 0)
	return n, all, err
}

type tomlReader struct {
	Rules
	lines lines
	nodes int
}

func (t *tomlReader) node(v any, at *place, deep int) (*Node, error) {
	if t.nodes++; t.nodes > t.Nodes {
		return nil, errMany
	}
	if deep > t.Depth {
		return nil, errDeep
	}
	n := &Node{At: at.at, Line: t.lines.of(at.at)}
	switch v := v.(type) {
	case map[string]any:
		n.Kind = Object
		for _, name := range slices.Sorted(maps.Keys(v)) {
			kid, err := t.node(v[name], at.member(name), deep+1)
			if err != nil {
				return nil, err
			}
			kid.Name = name
			n.Kids = append(n.Kids, kid)
		}
	case []any:
		n.Kind = Array
		for i, e := range v {
			kid, err := t.node(e, at.item(i), deep+1)
			if err != nil {
				return nil, err
			}
			n.Kids = append(n.Kids, kid)
		}
	case string:
		n.Kind, n.Text = String, v
	default:
		n.Text = fmt.Sprint(v)
	}
	return n, nil
}

// place is where a value was first written, and what is below it.
type place struct {
	at      int
	members map[string]*place
	items   []*place
}

func placesOf(text []byte) *place {
	root := &place{}
	table := root
	var p unstable.Parser
	p.Reset(text)
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = root.reach(e.Key(), e.Kind == unstable.ArrayTable)
		case unstable.KeyValue:
			table.reach(e.Key(), false).fill(e.Value())
		}
	}
	return root
}

func (p *place) member(name string) *place {
	if m := p.members[name]; m != nil {
		return m
	}
	return p
}

func (p *place) item(i int) *place {
	if i < len(p.items) {
		return p.items[i]
	}
	return p
}

// reach goes down by the parts of a key and makes what is not there. Of a list of tables
// the last one is meant; a list begins another one.
func (p *place) reach(key unstable.Iterator, list bool) *place {
	for key.Next() {
		name := string(key.Node().Data)
		at := int(key.Node().Raw.Offset)
		if p.members[name] == nil {
			if p.members == nil {
				p.members = map[string]*place{}
			}
			p.members[name] = &place{at: at}
		}
		p = p.members[name]
		if list && key.IsLast() {
			p.items = append(p.items, &place{at: at})
		}
		if n := len(p.items); n > 0 {
			p = p.items[n-1]
		}
	}
	return p
}

// fill notes what is in a value.
func (p *place) fill(v *unstable.Node) {
	switch v.Kind {
	case unstable.Array:
		for it := v.Children(); it.Next(); {
			item := &place{at: p.at}
			if raw := it.Node().Raw; raw.Length > 0 {
				item.at = int(raw.Offset)
			}
			item.fill(it.Node())
			p.items = append(p.items, item)
		}
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			p.reach(it.Node().Key(), false).fill(it.Node().Value())
		}
	}
}
