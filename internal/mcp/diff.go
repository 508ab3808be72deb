package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Lines tells what became of one item, field by field: "- " and "+ " lines of
// "field: text". Strings are as they are; who prints them makes them inert.
func (c Change) Lines() []string {
	was, is := fields(c.Was), fields(c.Is)
	names := slices.Concat(slices.Collect(maps.Keys(was)), slices.Collect(maps.Keys(is)))
	slices.Sort(names)
	var out []string
	for _, n := range slices.Compact(names) {
		if was[n] == is[n] {
			continue
		}
		if v, ok := was[n]; ok {
			out = append(out, "- "+n+": "+v)
		}
		if v, ok := is[n]; ok {
			out = append(out, "+ "+n+": "+v)
		}
	}
	return out
}

// fields are the parts of an object, each as text; one of another kind is one part.
func fields(text string) map[string]string {
	out := map[string]string{}
	if text == "" {
		return out
	}
	var all map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &all) != nil {
		return map[string]string{"text": plain([]byte(text))}
	}
	for name, raw := range all {
		out[name] = plain(raw)
	}
	return out
}

func plain(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

// Hidden lists the characters of an item that nobody sees and a model reads: what
// turns the direction of text, joins or separates without a width, tags, and control
// characters. Each is told once, as U+XXXX.
func Hidden(text string) []string {
	var out []string
	seen := map[rune]bool{}
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			for _, r := range v {
				if unseen(r) && !seen[r] && len(out) < 16 {
					seen[r] = true
					out = append(out, fmt.Sprintf("U+%04X", r))
				}
			}
		case []any:
			for _, e := range v {
				look(e)
			}
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				look(k)
				look(v[k])
			}
		}
	}
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&v) == nil {
		look(v)
	}
	return out
}

// unseen holds for characters without a picture of their own.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t' || r == '\r':
		return false
	case r == 0x200d || r == 0xfe0f: // joins and colours emoji
		return false
	case r == 0x115f || r == 0x1160 || r == 0x3164 || r == 0xffa0 || r == 0x2800: // blank letters
		return true
	case r >= 0xfe00 && r <= 0xfe0e, r >= 0xe0100 && r <= 0xe01ef: // variation selectors, which can carry bytes
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Co, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
}
