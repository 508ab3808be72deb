package install

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file/settings"
	"ringfence.dev/ringfence/internal/strictjson"
)

// form takes every text that checkSettings accepted.
var form = settings.Rules{Depth: strictjson.MaxDepth, Nodes: maxSettings}

// member is a member of an object and its number, -1 if there is none. An object of
// these settings has no name twice.
func member(n *settings.Node, name string) (*settings.Node, int) {
	i := slices.IndexFunc(n.Members(), func(k *settings.Node) bool { return k.Name == name })
	if i < 0 {
		return nil, -1
	}
	return n.Kids[i], i
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
		root, err := form.JSON(out)
		if err != nil {
			return nil, settingsEdit{}, err
		}
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
func (r rule) in(text []byte, list *settings.Node) int {
	if r.Name != "" {
		_, i := member(list, r.Name)
		return i
	}
	for i, e := range slices.Backward(list.Kids) {
		if r.same(text[e.Start:e.End]) {
			return i
		}
	}
	return -1
}

// find follows names to the list or object of a rule. missing is what is not there; then
// it returns the object in which that has to be made.
func find(n *settings.Node, r rule) (_ *settings.Node, missing []string, err error) {
	names := r.List
	for i, name := range names {
		if n.Kind != settings.Object {
			return n, nil, fault.New(fault.Refused, "mend it first", "%s is not an object", strings.Join(names[:i], "."))
		}
		next, _ := member(n, name)
		if next == nil {
			return n, names[i:], nil
		}
		n = next
	}
	if r.Name == "" && n.Kind != settings.Array {
		return n, nil, fault.New(fault.Refused, "mend it first", "%s is not a list", strings.Join(names, "."))
	}
	if r.Name != "" && n.Kind != settings.Object {
		return n, nil, fault.New(fault.Refused, "mend it first", "%s is not an object", strings.Join(names, "."))
	}
	return n, nil, nil
}

// insert puts a value at the end of an object or list, spaced like what is there.
func insert(text []byte, in *settings.Node, name, value string) []byte {
	lead, tail := "", ""
	if len(in.Kids) > 0 {
		lead = string(text[in.Start+1 : in.Kids[0].At])
	} else if len(bytes.TrimSpace(text[:in.Start])) == 0 { // the text is an empty object
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
	at, comma := in.Start+1, ""
	if len(in.Kids) > 0 {
		at, comma = in.Kids[len(in.Kids)-1].End, ","
		if lead == "" && strings.Contains(string(text), `, `) {
			comma = ", "
		}
	}
	out := append(slices.Clone(text[:at]), comma+lead+value...)
	if len(in.Kids) == 0 {
		return append(append(out, tail...), text[in.End-1:]...)
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
		root, err := form.JSON(out)
		if err != nil {
			return out
		}
		list, missing, err := find(root, r)
		if err != nil || len(missing) > 0 {
			continue
		}
		i := r.in(out, list)
		if i >= 0 && (r.Name == "" || string(out[list.Kids[i].Start:list.Kids[i].End]) == r.Element) {
			out = cut(out, list, i)
		}
	}
	for _, path := range slices.Backward(edit.Keys) {
		root, err := form.JSON(out)
		if err != nil {
			return out
		}
		names := strings.Split(path, ".")
		parent := root.Get(names[:len(names)-1]...)
		if own, i := member(parent, names[len(names)-1]); i >= 0 && len(own.Kids) == 0 && (own.Kind == settings.Object || own.Kind == settings.Array) {
			out = cut(out, parent, i)
		}
	}
	return out
}

// cut takes item i out, with the comma that it needs no more.
func cut(text []byte, in *settings.Node, i int) []byte {
	from, to := in.Kids[i].At, in.Kids[i].End
	switch {
	case i+1 < len(in.Kids):
		to = in.Kids[i+1].At
	case i > 0:
		from = in.Kids[i-1].End
	default:
		from, to = in.Start+1, in.End-1
	}
	return append(slices.Clone(text[:from]), text[to:]...)
}
