package policyimport

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// readTOML reads TOML. The full decoder judges it; the parser below it knows the lines.
func readTOML(data []byte) ([]leaf, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("larger than %d KiB", maxBytes>>10)
	}
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	var all map[string]any
	if err := toml.Unmarshal(data, &all); err != nil {
		var de *toml.DecodeError
		if errors.As(err, &de) {
			line, _ := de.Position()
			return nil, fmt.Errorf("line %d: not valid TOML: %s", line, strings.TrimPrefix(de.Error(), "toml: "))
		}
		return nil, fmt.Errorf("not valid TOML: %w", err)
	}
	t := &tomlReader{data: data, tables: map[string]int{}}
	t.parser.Reset(data)
	for t.parser.NextExpression() {
		if err := t.expression(t.parser.Expression()); err != nil {
			return nil, err
		}
	}
	if err := t.parser.Error(); err != nil {
		return nil, fmt.Errorf("not valid TOML: %w", err)
	}
	t.close()
	return t.out, nil
}

type tomlReader struct {
	data   []byte
	parser unstable.Parser
	tables map[string]int // lists of tables: how many there are so far
	path   []string
	key    string
	header *leaf // of a table in which nothing was yet
	out    []leaf

	counted, line int // newlines up to there
}

func (t *tomlReader) expression(e *unstable.Node) error {
	if len(t.out) >= maxLeaves {
		return fmt.Errorf("more than %d values", maxLeaves)
	}
	path, key := t.path, t.key
	if e.Kind != unstable.KeyValue {
		t.close()
		path, key = nil, ""
	}
	line, last := 0, ""
	for it := e.Key(); it.Next(); {
		if line == 0 {
			line = t.lineAt(int(it.Node().Raw.Offset))
		}
		if n, many := t.tables[last]; many && last != "" && e.Kind != unstable.KeyValue {
			key += "[" + strconv.Itoa(n-1) + "]"
		}
		name := string(it.Node().Data)
		path, key = append(path[:len(path):len(path)], name), joinKey(key, name)
		last = key
	}
	switch e.Kind {
	case unstable.ArrayTable:
		t.tables[key]++
		key += "[" + strconv.Itoa(t.tables[key]-1) + "]"
		fallthrough
	case unstable.Table:
		t.path, t.key = path, key
		t.header = &leaf{path: path, key: key, kind: empty, text: "{}", line: line}
		return nil
	}
	t.header = nil
	return t.value(path, key, line, e.Value(), 0)
}

// lineAt counts on from where it was asked last: expressions come in their order.
func (t *tomlReader) lineAt(at int) int {
	if at < t.counted {
		t.counted, t.line = 0, 0
	}
	t.line += bytes.Count(t.data[t.counted:at], []byte{'\n'})
	t.counted = at
	return t.line + 1
}

// close notes a table that has nothing in it.
func (t *tomlReader) close() {
	if t.header != nil {
		t.out = append(t.out, *t.header)
	}
	t.header = nil
}

func (t *tomlReader) value(path []string, key string, line int, v *unstable.Node, depth int) error {
	if depth > maxDepth || len(t.out) >= maxLeaves || len(v.Data) > maxValue || len(key) > maxValue {
		return fmt.Errorf("line %d: too deep, too long or too much", line)
	}
	l := leaf{path: path, key: key, text: string(v.Data), line: line}
	n := 0
	switch v.Kind {
	case unstable.Array:
		for it := v.Children(); it.Next(); n++ {
			if err := t.value(path, key+"["+strconv.Itoa(n)+"]", line, it.Node(), depth+1); err != nil {
				return err
			}
		}
		l.kind, l.text = empty, "[]"
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); n++ {
			inner, full := path, key
			for k := it.Node().Key(); k.Next(); {
				name := string(k.Node().Data)
				inner, full = append(inner[:len(inner):len(inner)], name), joinKey(full, name)
			}
			if err := t.value(inner, full, line, it.Node().Value(), depth+1); err != nil {
				return err
			}
		}
		l.kind, l.text = empty, "{}"
	case unstable.String:
		l.kind = text
	case unstable.Bool:
		l.kind = flag
	default:
		l.kind = number
	}
	if n == 0 {
		t.out = append(t.out, l)
	}
	return nil
}
