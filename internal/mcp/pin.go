package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Instructions is the name under which the instructions of a server stand. A tool has
// a name.
const Instructions = ""

// The bounds of what is kept of one server.
const (
	MaxItems = 1024
	MaxBytes = 4 << 20
)

// Items are what a server tells of itself, its tools and its instructions: texts in
// canonical JSON by the name of the tool, so that neither the order of names nor white
// space is a change. They are remembered from the first sight on, so that a server which
// says something else later is found out.
//
// Left at risk: the first sight. A server that lies from the beginning is pinned with
// its lies; and what a tool does when it is called is not told by any list.
type Items map[string]string

// Canonical is the one form of a JSON text: names sorted, no white space, strings
// escaped in one way. Numbers stay as they are written.
func Canonical(raw []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", errors.New("not valid JSON")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Digest names a set of items.
func (it Items) Digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(it)) {
		fmt.Fprintf(h, "%d:%s%d:%s", len(name), name, len(it[name]), it[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// fits holds the items within the bounds.
func (it Items) fits() error {
	n := 0
	for name, text := range it {
		n += len(name) + len(text)
	}
	if len(it) > MaxItems || n > MaxBytes {
		return fmt.Errorf("more than %d tools or %d MiB of descriptions", MaxItems, MaxBytes>>20)
	}
	return nil
}

// Change is one difference. Was and Is are canonical; "" for what is not there.
type Change struct {
	Name    string `json:"name"`
	Was, Is string `json:"-"`
}

// What says it in a word.
func (c Change) What() string {
	switch {
	case c.Was == "":
		return "added"
	case c.Is == "":
		return "removed"
	}
	return "changed"
}

// Subject is what changed; the name of a tool is quoted, since it is the server's.
func Subject(name string) string {
	if name == Instructions {
		return "instructions"
	}
	return fmt.Sprintf("tool %q", name)
}

// String is a line for people.
func (c Change) String() string { return Subject(c.Name) + " " + c.What() }

// Compare lists what of now is not as was has it, sorted by name. What is gone is not
// looked for: now may be a part of the list.
func Compare(was, now Items) []Change {
	var out []Change
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if was[name] != now[name] {
			out = append(out, Change{name, was[name], now[name]})
		}
	}
	return out
}
