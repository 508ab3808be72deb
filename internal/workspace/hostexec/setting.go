package hostexec

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/file/settings"
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

var errMany = fmt.Errorf("more than %d settings", maxSettings)

// readers read a file by its form.
var readers = map[string]func([]byte) ([]setting, error){
	"git":   gitSettings,
	"json":  jsonSettings,
	"toml":  tomlSettings,
	"lines": lineSettings,
	"env":   envSettings,
}

func gitSettings(b []byte) ([]setting, error) {
	entries, err := settings.ParseGit(b)
	if err != nil {
		return nil, err
	}
	out := make([]setting, 0, len(entries))
	for _, e := range entries {
		out = append(out, setting{key: fold(e.Key), shown: e.Key, value: e.Value, line: e.Line})
	}
	return out, nil
}

// lineSettings takes every line for a key, with its white space made plain.
func lineSettings(b []byte) ([]setting, error) {
	if err := settings.OneReading(b); err != nil {
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

// form is how editors and agents read their settings, within our bounds.
var form = settings.Rules{Comments: true, OneReading: true, Depth: 64, Nodes: 2 * maxSettings}

// jsonSettings reads JSON with comments. A name that is there twice is told twice, so
// nothing hides behind another reading.
func jsonSettings(b []byte) ([]setting, error) {
	n, err := form.JSON(b)
	if err != nil {
		return nil, err
	}
	return flat(nil, "", n)
}

func tomlSettings(b []byte) ([]setting, error) {
	n, _, err := form.TOML(b)
	if err != nil {
		return nil, err
	}
	return flat(nil, "", n)
}

// flat lists what holds no other value. Elements of a list have its name; an empty list
// or table is a value too.
func flat(out []setting, key string, n *settings.Node) (_ []setting, err error) {
	if len(n.Kids) == 0 {
		if len(out) == maxSettings {
			return nil, errMany
		}
		return append(out, setting{key: fold(key), shown: key, value: n.Text, line: n.Line}), nil
	}
	for _, k := range n.Kids {
		at := key
		if n.Kind == settings.Object {
			at = strings.TrimPrefix(key+"."+k.Name, ".")
		}
		if out, err = flat(out, at, k); err != nil {
			return nil, err
		}
	}
	return out, nil
}
