package scan

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"ringfence.dev/ringfence/internal/file/settings"
)

// tomlFile is a TOML file between its parser and its writer, which know no lines: a
// line is found by the name.
type tomlFile struct {
	all   map[string]any
	lines []string
	nodes int
}

func parseTOML(data []byte) (*node, *tomlFile, error) {
	if bytes.Count(data, []byte{'['})+bytes.Count(data, []byte{'{'})+bytes.Count(data, []byte{'.'}) > maxNodes {
		return nil, nil, errMany
	}
	if err := settings.OneReading(data); err != nil {
		return nil, nil, err
	}
	f := &tomlFile{lines: strings.Split(string(data), "\n")}
	if err := toml.Unmarshal(data, &f.all); err != nil {
		return nil, nil, err
	}
	n, err := f.node(f.all, 0, 0)
	return n, f, err
}

func (f *tomlFile) node(v any, line, deep int) (*node, error) {
	if f.nodes++; f.nodes > maxNodes {
		return nil, errMany
	}
	if deep > maxDepth {
		return nil, errDeep
	}
	n := &node{line: line}
	switch v := v.(type) {
	case map[string]any:
		n.kind = '{'
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := nameReads(name); err != nil {
				return nil, err
			}
			at := f.line(name, line)
			c, err := f.node(v[name], at, deep+1)
			if err != nil {
				return nil, err
			}
			n.members = append(n.members, member{name, at, c})
		}
	case []any:
		n.kind = '['
		for _, e := range v {
			c, err := f.node(e, line, deep+1)
			if err != nil {
				return nil, err
			}
			n.items = append(n.items, c)
		}
	case string:
		n.kind, n.text = '"', v
	default:
		n.text = fmt.Sprint(v)
	}
	return n, nil
}

// line finds where a name is first written plainly, at or behind a line.
func (f *tomlFile) line(name string, from int) int {
	for i := max(from-1, 0); i < len(f.lines); i++ {
		text := strings.TrimSpace(f.lines[i])
		rest, ok := strings.CutPrefix(text, name)
		if ok && strings.HasPrefix(strings.TrimSpace(rest), "=") || strings.HasPrefix(text, "[") && strings.Contains(text, name) {
			return i + 1
		}
	}
	return from
}

// render writes what is left: the values of the parser, in the shape of the tree.
func (f *tomlFile) render(n *node) ([]byte, error) {
	return toml.Marshal(prune(f.all, n))
}

// prune takes out of a value what its tree has no more.
func prune(v any, n *node) any {
	table, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for _, m := range n.members {
		if list, ok := table[m.name].([]any); ok {
			if len(list) == len(m.value.items) {
				out[m.name] = list
			}
			continue
		}
		out[m.name] = prune(table[m.name], m.value)
	}
	return out
}
