package install

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// node is a value of a text that Check accepted: where it stands, and what it holds.
type node struct {
	start, end int
	object     bool
	array      bool
	names      []string // of the members
	keys       []int    // where their names begin
	items      []node
}

// scanNode reads the value at a place.
func scanNode(text []byte, at int) node {
	n := node{start: at}
	switch text[at] {
	case '{', '[':
		n.object, n.array = text[at] == '{', text[at] == '['
		for at = space(text, at+1); text[at] != '}' && text[at] != ']'; at = space(text, at) {
			if text[at] == ',' {
				at = space(text, at+1)
			}
			if n.object {
				end := quoted(text, at)
				var name string
				_ = json.Unmarshal(text[at:end], &name) // checkSettings has read it
				n.names, n.keys = append(n.names, name), append(n.keys, at)
				at = space(text, space(text, end)+1)
			}
			item := scanNode(text, at)
			n.items = append(n.items, item)
			at = item.end
		}
		n.end = at + 1
	case '"':
		n.end = quoted(text, at)
	default:
		for n.end = at; n.end < len(text) && !strings.ContainsRune(",]} \t\r\n", rune(text[n.end])); n.end++ {
		}
	}
	return n
}

func space(text []byte, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	return at
}

// quoted is the end of a string.
func quoted(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

func (n node) member(name string) (node, int, bool) {
	if i := slices.Index(n.names, name); i >= 0 {
		return n.items[i], i, true
	}
	return node{}, 0, false
}

// settingsEdit is what Merge did to a text.
type settingsEdit struct {
	Rules []rule   `json:"rules,omitempty"` // those that were not there
	Keys  []string `json:"keys,omitempty"`  // what had to be made for them, names joined by dots
}

// mergeRules adds the rules that are not there.
func mergeRules(text []byte, rules []rule) (out []byte, edit settingsEdit, err error) {
	out = slices.Clone(text)
	for _, r := range rules {
		root := scanNode(out, space(out, 0))
		list, missing, err := find(root, r)
		if err != nil {
			return nil, settingsEdit{}, err
		}
		if len(missing) == 0 {
			if r.in(out, list) < 0 {
				edit.Rules = append(edit.Rules, r)
				out = insert(out, list, r.Name, r.Element)
			}
			continue
		}
		edit.Rules = append(edit.Rules, r)
		depth := len(r.List) - len(missing)
		for i := range missing {
			edit.Keys = append(edit.Keys, strings.Join(r.List[:depth+i+1], "."))
		}
		value := "[" + r.Element + "]"
		if r.Name != "" {
			value = "{" + mustJSON(r.Name) + ":" + r.Element + "}"
		}
		for _, name := range slices.Backward(missing[1:]) {
			value = "{" + mustJSON(name) + ":" + value + "}"
		}
		out = insert(out, list, missing[0], value)
	}
	return out, edit, nil
}

// in is where a rule stands in its list or object; -1 if it does not. A member that has
// another value stands there too: it is the administrator's word.
func (r rule) in(text []byte, list node) int {
	if r.Name != "" {
		return slices.Index(list.names, r.Name)
	}
	for i, e := range slices.Backward(list.items) {
		if r.same(text[e.start:e.end]) {
			return i
		}
	}
	return -1
}

// find follows names to the list or object of a rule. missing is what is not there; then
// it returns the object in which that has to be made.
func find(n node, r rule) (_ node, missing []string, err error) {
	names := r.List
	for i, name := range names {
		if !n.object {
			return n, nil, fault.New(fault.Refused, "mend it first", "%s is not an object", strings.Join(names[:i], "."))
		}
		next, _, ok := n.member(name)
		if !ok {
			return n, names[i:], nil
		}
		n = next
	}
	if r.Name == "" && !n.array {
		return n, nil, fault.New(fault.Refused, "mend it first", "%s is not a list", strings.Join(names, "."))
	}
	if r.Name != "" && !n.object {
		return n, nil, fault.New(fault.Refused, "mend it first", "%s is not an object", strings.Join(names, "."))
	}
	return n, nil, nil
}

// insert puts a value at the end of an object or list, spaced like what is there.
func insert(text []byte, in node, name, value string) []byte {
	lead, tail := "", ""
	if len(in.items) > 0 {
		first := in.items[0].start
		if in.object {
			first = in.keys[0]
		}
		lead = string(text[in.start+1 : first])
	} else if in.start == space(text, 0) { // the text is an empty object
		lead, tail = "\n  ", "\n"
	}
	step := indent(lead)
	if step != "" {
		value = reindent(value, lead, step)
	}
	if name != "" {
		colon := ":"
		if step != "" || strings.Contains(string(text), `": `) {
			colon = ": "
		}
		value = mustJSON(name) + colon + value
	}
	at, comma := in.start+1, ""
	if len(in.items) > 0 {
		at, comma = in.items[len(in.items)-1].end, ","
		if lead == "" && strings.Contains(string(text), `, `) {
			comma = ", "
		}
	}
	out := append(slices.Clone(text[:at]), comma+lead+value...)
	if len(in.items) == 0 {
		return append(append(out, tail...), text[in.end-1:]...)
	}
	return append(out, text[at:]...)
}

// indent is what lines are indented by, if there are lines.
func indent(lead string) string {
	i := strings.LastIndexByte(lead, '\n')
	if i < 0 {
		return ""
	}
	if own := lead[i+1:]; strings.HasPrefix(own, "\t") {
		return "\t"
	} else if len(own)%4 == 0 && len(own) > 0 {
		return "    "
	}
	return "  "
}

// reindent writes a value in lines that fit where it goes.
func reindent(value, lead, step string) string {
	prefix := lead[strings.LastIndexByte(lead, '\n')+1:]
	out, err := indented(value, prefix, step)
	if err != nil {
		return value
	}
	return out
}

func indented(value, prefix, step string) (string, error) {
	var v json.RawMessage = []byte(value)
	out, err := json.MarshalIndent(v, prefix, step)
	if err != nil {
		return "", fmt.Errorf("indent: %w", err)
	}
	return string(out), nil
}

// removeRules takes the rules out, and what was made for them if nothing else is in there.
func removeRules(text []byte, edit settingsEdit) []byte {
	out := slices.Clone(text)
	for _, r := range edit.Rules {
		list, missing, err := find(scanNode(out, space(out, 0)), r)
		if err != nil || len(missing) > 0 {
			continue
		}
		i := r.in(out, list)
		if i >= 0 && (r.Name == "" || string(out[list.items[i].start:list.items[i].end]) == r.Element) {
			out = cut(out, list, i)
		}
	}
	for _, path := range slices.Backward(edit.Keys) {
		names := strings.Split(path, ".")
		parent, missing, err := walkTo(scanNode(out, space(out, 0)), names[:len(names)-1])
		if err != nil || len(missing) > 0 {
			continue
		}
		if own, i, ok := parent.member(names[len(names)-1]); ok && len(own.items) == 0 && (own.array || own.object) {
			out = cut(out, parent, i)
		}
	}
	return out
}

// walkTo follows names to an object.
func walkTo(n node, names []string) (node, []string, error) {
	for i, name := range names {
		next, _, ok := n.member(name)
		if !ok || !next.object {
			return n, names[i:], nil
		}
		n = next
	}
	return n, nil, nil
}

// cut takes item i out, with the comma that it needs no more.
func cut(text []byte, in node, i int) []byte {
	begin := func(i int) int {
		if in.object {
			return in.keys[i]
		}
		return in.items[i].start
	}
	from, to := begin(i), in.items[i].end
	switch {
	case i+1 < len(in.items):
		to = begin(i + 1)
	case i > 0:
		from = in.items[i-1].end
	default:
		from, to = in.start+1, in.end-1
	}
	return append(slices.Clone(text[:from]), text[to:]...)
}
