package policyimport

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
)

// form: a name that stands twice is an error, for two readers would take two values.
var form = settings.Rules{Comments: true, OneReading: true, Once: true, Depth: maxDepth, Nodes: 4 * maxLeaves}

func readJSON(data []byte) ([]leaf, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("larger than %d KiB", maxBytes>>10)
	}
	n, err := form.JSON(data)
	if err != nil {
		return nil, err
	}
	return leaves(nil, leaf{}, n)
}

func readTOML(data []byte) ([]leaf, error) {
	if len(data) > maxBytes {
		return nil, fmt.Errorf("larger than %d KiB", maxBytes>>10)
	}
	n, _, err := form.TOML(data)
	if err != nil {
		return nil, err
	}
	out, err := leaves(nil, leaf{}, n)
	slices.SortStableFunc(out, func(a, b leaf) int { return a.at - b.at }) // as they are written
	return out, err
}

// leaves adds what holds no other value, at and below one that is reached by up.
func leaves(out []leaf, up leaf, n *settings.Node) (_ []leaf, err error) {
	if len(n.Kids) == 0 {
		if len(out) >= maxLeaves {
			return nil, fmt.Errorf("more than %d values", maxLeaves)
		}
		if len(n.Text) > maxValue || len(up.key) > maxValue {
			return nil, fmt.Errorf("line %d: a value of more than %d bytes", n.Line, maxValue)
		}
		up.kind, up.text, up.line, up.at = kindOf(n), n.Text, n.Line, n.At
		if up.kind == empty {
			up.text = map[settings.Kind]string{settings.Object: "{}", settings.Array: "[]"}[n.Kind]
		}
		return append(out, up), nil
	}
	for i, k := range n.Kids {
		below := leaf{path: up.path, key: up.key + "[" + strconv.Itoa(i) + "]"}
		if n.Kind == settings.Object {
			below = leaf{path: append(up.path[:len(up.path):len(up.path)], k.Name), key: joinKey(up.key, k.Name)}
		}
		if out, err = leaves(out, below, k); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func kindOf(n *settings.Node) kind {
	switch {
	case n.Kind == settings.Object, n.Kind == settings.Array:
		return empty
	case n.Kind == settings.String:
		return text
	case n.Text == "true", n.Text == "false":
		return flag
	case n.Text == "null":
		return null
	}
	return number
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
