package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"

	"github.com/pelletier/go-toml/v2"

	"ringfence.dev/ringfence/internal/file/settings"
)

// Judge is what Scrub and Fill need to know of the host.
type Judge struct {
	Secret     func(name string) bool // whether a variable of that name holds a secret
	Workspaces []string
	Dir        string // where the agent starts
}

// maxSettings bounds a settings file in bytes, maxDepth in levels.
const (
	maxSettings = 1 << 20
	maxDepth    = 64
)

// form is how agents read their settings. What is shown is written anew, so of two equal
// names the last counts.
var form = settings.Rules{Comments: true, Depth: maxDepth, Nodes: maxSettings}

// formTOML has fewer values: its parser calls itself for every bracket.
var formTOML = settings.Rules{Depth: maxDepth, Nodes: 1 << 16}

// Scrub returns a copy of a settings file without secrets, and the key paths that
// were taken out, sorted. A key goes if the rules drop it, if its name is that of
// a secret and its value could be one, or if its value looks like a secret under
// any name; with the last, the unit it lies in goes too, which would not work
// without it. Comments go. On an error the file must not be shown.
//
// Left at risk: a secret under a harmless name whose shape nobody knows.
func (c Config) Scrub(data []byte, j Judge) ([]byte, []string, error) {
	tree, err := parse(c.Format, data)
	if err != nil {
		return nil, nil, err
	}
	s := newScrubber(c.Rules, j)
	s.table(nil, tree, false)
	out, err := render(c.Format, tree)
	if err != nil {
		return nil, nil, err
	}
	sort.Strings(s.gone)
	return out, s.gone, nil
}

// parse reads a settings file; only a table is one.
func parse(format string, data []byte) (map[string]any, error) {
	if len(data) > maxSettings {
		return nil, fmt.Errorf("larger than %d bytes", maxSettings)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var tree map[string]any
	switch format {
	case "json":
		n, err := form.JSON(data)
		if err != nil {
			return nil, fmt.Errorf("not valid JSON: %w", err)
		}
		tree, _ = n.Value().(map[string]any)
	case "toml":
		var err error
		if _, tree, err = formTOML.TOML(data); err != nil {
			return nil, fmt.Errorf("not valid TOML: %w", err)
		}
	default:
		return nil, fmt.Errorf("no format %q", format)
	}
	if tree == nil {
		return nil, errors.New("not a table")
	}
	return tree, nil
}

func render(format string, tree map[string]any) ([]byte, error) {
	if format == "toml" {
		return toml.Marshal(tree)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(tree)
	return out.Bytes(), err
}

// scrubber walks one settings file.
type scrubber struct {
	drop, forget, keep, mine, unit [][]string
	judge                          Judge
	gone                           []string
}

func newScrubber(r Rules, j Judge) *scrubber {
	return &scrubber{drop: split(r.Drop), forget: split(r.Forget), keep: split(r.Keep), mine: split(r.Mine), unit: split(r.Unit), judge: j}
}

// fate is what becomes of a value.
type fate int

const (
	stays  fate = iota
	broken      // it stays, but a text inside was lost that it may need
	goes
)

// table scrubs a table in place. Inside a table that a secret name leads to,
// every text is suspect.
func (s *scrubber) table(path []string, t map[string]any, suspect bool) fate {
	foreign := matches(s.mine, path)
	end := stays
	for key, value := range t {
		here := append(path[:len(path):len(path)], key)
		if foreign && !s.ours(key) || matches(s.forget, here) {
			delete(t, key)
			continue
		}
		if matches(s.drop, here) || looksSecret(key) {
			s.remove(t, here)
			continue
		}
		named := !matches(s.keep, here) && (suspect || s.secretName(key))
		clean, f := s.value(here, value, named)
		t[key] = clean
		if f == goes {
			s.remove(t, here)
		}
		if f == broken || f == goes && !named {
			end = broken
		}
	}
	return end
}

// value returns the scrubbed value and what becomes of it.
func (s *scrubber) value(path []string, value any, suspect bool) (any, fate) {
	end := stays
	switch v := value.(type) {
	case map[string]any:
		end = s.table(path, v, suspect)
	case []any:
		value, end = s.list(path, v, suspect)
	case string:
		if !harmless(v) && (suspect || s.leaks(v)) {
			return nil, goes
		}
	}
	if end == broken && matches(s.unit, path) {
		return nil, goes
	}
	return value, end
}

// list scrubs a list. An option with a secret name makes the element after it
// suspect, and goes with it: "--api-key", "…".
func (s *scrubber) list(path []string, list []any, suspect bool) ([]any, fate) {
	end, after := stays, false
	kept := []any{}
	for i, value := range list {
		here := append(path[:len(path):len(path)], strconv.Itoa(i))
		clean, f := s.value(here, value, suspect || after)
		switch {
		case f != goes:
			kept = append(kept, clean)
		case after:
			kept = kept[:len(kept)-1]
			fallthrough
		default:
			s.gone = append(s.gone, spell(here))
		}
		if f != stays {
			end = broken
		}
		text, _ := value.(string)
		after = isOption(text) && s.secretName(text)
	}
	return kept, end
}

func (s *scrubber) remove(t map[string]any, path []string) {
	delete(t, path[len(path)-1])
	s.gone = append(s.gone, spell(path))
}

// ours reports whether a table keyed by directory has this project under key.
func (s *scrubber) ours(key string) bool {
	for _, ws := range s.judge.Workspaces {
		if key == ws {
			return true
		}
	}
	return false
}
