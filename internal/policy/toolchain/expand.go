package toolchain

import (
	"path/filepath"
	"strings"
)

// expand lists what exists under root by patterns: "." is root itself, "*" any
// one name. It reports false if a directory was too large to be looked through.
func (f *finder) expand(root string, patterns []string) (found []string, complete bool) {
	complete = true
	for _, pattern := range patterns {
		paths := []string{root}
		for _, name := range strings.Split(pattern, "/") {
			var next []string
			for _, p := range paths {
				hits, ok := f.named(p, name)
				next, complete = append(next, hits...), complete && ok
			}
			paths = next
		}
		found = append(found, paths...)
	}
	return found, complete
}

// named lists what of one name exists in a directory.
func (f *finder) named(dir, name string) ([]string, bool) {
	if name != "*" {
		path := filepath.Join(dir, name)
		if _, err := f.Look.Stat(path); err != nil {
			return nil, true
		}
		return []string{path}, true
	}
	entries, err := f.Look.ReadDir(dir)
	if err != nil {
		return nil, true // what we cannot list, the agent cannot either: it is the same user
	}
	if len(entries) > maxEntries {
		return nil, false
	}
	paths := make([]string, len(entries))
	for i, e := range entries {
		paths[i] = filepath.Join(dir, e.Name())
	}
	return paths, true
}
