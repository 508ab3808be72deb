package hostexec

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// setting is one leaf of a file, whatever its form: a name, a value, a line.
type setting struct {
	key   string // folded
	shown string // as it is written
	value string
	line  int
}

// maxSettings bounds what is looked at of one file.
const maxSettings = 20000

var (
	errMany = fmt.Errorf("more than %d settings", maxSettings)
	errDeep = errors.New("nested too deep")
)

// readers read a file by its form.
var readers = map[string]func([]byte) ([]setting, error){
	"git":   gitSettings,
	"json":  jsonSettings,
	"toml":  tomlSettings,
	"lines": lineSettings,
	"env":   envSettings,
}

func gitSettings(b []byte) ([]setting, error) {
	entries, err := parseConfig(b)
	if err != nil {
		return nil, err
	}
	out := make([]setting, 0, len(entries))
	for _, e := range entries {
		out = append(out, setting{key: fold(e.key), shown: e.key, value: e.value, line: e.line})
	}
	return out, nil
}

// lineSettings takes every line for a key, with its white space made plain.
func lineSettings(b []byte) ([]setting, error) {
	if err := OneReading(b); err != nil {
		return nil, err
	}
	var out []setting
	for i, line := range strings.Split(string(b), "\n") {
		text := strings.Join(strings.Fields(line), " ")
		if text == "" || text[0] == '#' {
			continue
		}
		if len(out) == maxSettings {
			return nil, errMany
		}
		out = append(out, setting{key: fold(text), shown: text, line: i + 1})
	}
	return out, nil
}

// tomlSettings leaves TOML to its own parser, which knows no lines: they are found
// by the name.
func tomlSettings(b []byte) ([]setting, error) {
	if bytes.Count(b, []byte{'['})+bytes.Count(b, []byte{'{'}) > maxSettings {
		return nil, errMany
	}
	if err := OneReading(b); err != nil {
		return nil, err
	}
	var all map[string]any
	if err := toml.Unmarshal(b, &all); err != nil {
		return nil, err
	}
	t := tomlTree{lines: strings.Split(string(b), "\n")}
	err := t.add(nil, all)
	return t.out, err
}

type tomlTree struct {
	lines []string
	out   []setting
}

func (t *tomlTree) add(names []string, v any) error {
	if len(names) > maxDepth {
		return errDeep
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := t.add(append(names[:len(names):len(names)], name), v[name]); err != nil {
				return err
			}
		}
		return nil
	case []any:
		for _, e := range v {
			if err := t.add(names, e); err != nil {
				return err
			}
		}
		return nil
	}
	if len(t.out) == maxSettings {
		return errMany
	}
	key := strings.Join(names, ".")
	s := setting{key: fold(key), shown: key, value: fmt.Sprint(v)}
	if len(names) > 0 {
		s.line = t.line(names[len(names)-1])
	}
	t.out = append(t.out, s)
	return nil
}

// line finds where a name is first given a value, if it is written plainly.
func (t *tomlTree) line(name string) int {
	for i, line := range t.lines {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok && strings.HasPrefix(strings.TrimSpace(rest), "=") {
			return i + 1
		}
	}
	return 0
}
