package toolchain

import (
	"errors"

	"github.com/pelletier/go-toml/v2"

	"ringfence.dev/ringfence/internal/file/settings"
)

// copies adds the files of which only a part is shown. One that cannot be read
// or understood is not shown at all.
func (f *finder) copies(c chain) {
	for _, p := range c.Copy {
		path := inHome(p.Path, f.Home)
		info, err := f.Look.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() > maxReduced {
			continue
		}
		text, err := f.Look.ReadFile(path)
		if err != nil {
			continue
		}
		if part, err := reduce(text, p.Keep); err == nil {
			f.found.Copies = append(f.found.Copies, Copy{path, part, c.Name})
		}
	}
}

// Bounds of a file that is reduced: its size, and what limits its nesting.
const maxReduced = 256 << 10

// reduce returns a TOML text with nothing but the tables to keep.
func reduce(text []byte, keep []string) ([]byte, error) {
	if len(text) > maxReduced {
		return nil, errors.New("too large")
	}
	_, whole, err := settings.Rules{Depth: 64, Nodes: 1 << 16}.TOML(text)
	if err != nil {
		return nil, err
	}
	part := map[string]any{}
	for _, name := range keep {
		if value, ok := whole[name]; ok {
			part[name] = value
		}
	}
	return toml.Marshal(part)
}
