package settings

import (
	"encoding/json"
	"slices"
)

// Kind is what a value is.
type Kind byte

// The kinds. Word is every other scalar: numbers, true, false, null, dates.
const (
	Word   Kind = 0
	Object Kind = '{'
	Array  Kind = '['
	String Kind = '"'
)

// Node is a value of a file.
type Node struct {
	Kind Kind
	Name string // of a member
	Text string // of a string, decoded; of a word as it is written
	Line int    // of a member: where its name stands
	Kids []*Node

	// Where it stands in the text: a member with its name from At on. In TOML only At
	// is known, and elements of a list may have that of the list.
	At, NameEnd, Start, End int
}

// Members are those of an object, Items those of a list; of all else there are none.
func (n *Node) Members() []*Node { return n.kids(Object) }

// Items are the elements of a list.
func (n *Node) Items() []*Node { return n.kids(Array) }

func (n *Node) kids(k Kind) []*Node {
	if n == nil || n.Kind != k {
		return nil
	}
	return n.Kids
}

// Get returns the member at a path, nil if there is none. Of two members of a name
// the last counts, as it does for those who read the file.
func (n *Node) Get(path ...string) *Node {
	for _, name := range path {
		var found *Node
		for _, k := range n.Members() {
			if k.Name == name {
				found = k
			}
		}
		n = found
	}
	return n
}

// All returns every value that a path leads to; "*" is any member or element.
func (n *Node) All(path ...string) []*Node {
	if n == nil {
		return nil
	}
	if len(path) == 0 {
		return []*Node{n}
	}
	next := n.Kids
	if path[0] != "*" {
		next = []*Node{n.Get(path[0])}
	}
	var out []*Node
	for _, k := range next {
		out = append(out, k.All(path[1:]...)...)
	}
	return out
}

// Each calls f for a value and everything below it, until f returns an error.
func (n *Node) Each(f func(*Node) error) error {
	if err := f(n); err != nil {
		return err
	}
	for _, k := range n.Kids {
		if err := k.Each(f); err != nil {
			return err
		}
	}
	return nil
}

// IsTrue holds for the word, not for a string that says so.
func (n *Node) IsTrue() bool { return n != nil && n.Kind == Word && n.Text == "true" }

// IsFalse is the same for false.
func (n *Node) IsFalse() bool { return n != nil && n.Kind == Word && n.Text == "false" }

// Is reports whether it is this string.
func (n *Node) Is(text string) bool { return n != nil && n.Kind == String && n.Text == text }

// Str is the text of a string, "" for all else.
func (n *Node) Str() string {
	if n == nil || n.Kind != String {
		return ""
	}
	return n.Text
}

// Strs are the strings of a list; a string alone is a list of one.
func (n *Node) Strs() []*Node {
	if n != nil && n.Kind == String {
		return []*Node{n}
	}
	return slices.DeleteFunc(slices.Clone(n.Items()), func(k *Node) bool { return k.Kind != String })
}

// Value is a value of JSON as encoding/json would decode it, with json.Number for numbers.
func (n *Node) Value() any {
	switch n.Kind {
	case Object:
		table := make(map[string]any, len(n.Kids))
		for _, k := range n.Kids {
			table[k.Name] = k.Value()
		}
		return table
	case Array:
		list := make([]any, 0, len(n.Kids))
		for _, k := range n.Kids {
			list = append(list, k.Value())
		}
		return list
	case String:
		return n.Text
	}
	switch n.Text {
	case "true", "false":
		return n.Text == "true"
	case "null":
		return nil
	}
	return json.Number(n.Text)
}
