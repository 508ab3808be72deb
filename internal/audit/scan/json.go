package scan

import (
	"bytes"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2"

	"ringfence.dev/ringfence/internal/file/settings"
	"ringfence.dev/ringfence/internal/injection"
)

// node is one value of a settings file, whatever its form. A table keeps the order
// of its members and also those of the same name, so that nothing hides behind
// another reading.
type node = settings.Node

// bounds is how agents and editors read: comments and a comma behind the last element
// are let pass. Who reads none of that reads nothing at all.
var bounds = settings.Rules{Comments: true, OneReading: true, Depth: 64, Nodes: 20_000}

func parseJSON(data []byte) (*node, error) {
	n, err := bounds.JSON(data)
	if err != nil {
		return nil, err
	}
	return n, n.Each(nameReads)
}

// parseTOML also returns what the tree was made of, for those who write it again.
func parseTOML(data []byte) (*node, map[string]any, error) {
	n, all, err := bounds.TOML(data)
	if err != nil {
		return nil, nil, err
	}
	return n, all, n.Each(nameReads)
}

// renderJSON writes what is left of a file: plain JSON, without comments.
func renderJSON(n *node) []byte {
	var b bytes.Buffer
	writeJSON(&b, n, "\n")
	b.WriteByte('\n')
	return b.Bytes()
}

func writeJSON(b *bytes.Buffer, n *node, line string) {
	switch n.Kind {
	case 0:
		b.WriteString(n.Text)
	case '"':
		b.Write(quoteJSON(n.Text))
	case '[':
		b.WriteByte('[')
		for i, v := range n.Kids {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(line + "  ")
			writeJSON(b, v, line+"  ")
		}
		if len(n.Kids) > 0 {
			b.WriteString(line)
		}
		b.WriteByte(']')
	case '{':
		b.WriteByte('{')
		for i, m := range n.Kids {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(line + "  ")
			b.Write(quoteJSON(m.Name))
			b.WriteString(": ")
			writeJSON(b, m, line+"  ")
		}
		if len(n.Kids) > 0 {
			b.WriteString(line)
		}
		b.WriteByte('}')
	}
}

func quoteJSON(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return []byte(`""`)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

var errName = errors.New("a name with characters that nobody sees")

// nameReads refuses names that a reader could take for others.
func nameReads(n *node) error {
	for _, r := range n.Name {
		if r == utf8.RuneError || injection.Invisible(r) {
			return errName
		}
	}
	return nil
}

// renderTOML writes what is left: the values of the parser, in the shape of the tree.
func renderTOML(all map[string]any, n *node) ([]byte, error) { return toml.Marshal(prune(all, n)) }

// prune takes out of a value what its tree has no more.
func prune(v any, n *node) any {
	table, ok := v.(map[string]any)
	if !ok {
		return v
	}
	out := map[string]any{}
	for _, m := range n.Members() {
		if list, ok := table[m.Name].([]any); ok {
			if len(list) == len(m.Items()) {
				out[m.Name] = list
			}
			continue
		}
		out[m.Name] = prune(table[m.Name], m)
	}
	return out
}
