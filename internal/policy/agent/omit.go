package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// maxListed bounds how many names one directory may have for its "*" to be
// looked through.
const maxListed = 4096

// Omitted lists the paths inside dir that Omit hides and that exist. It reads the
// directories on the way of a pattern and no others. On an error dir must not be
// shown.
func (c Config) Omitted(dir string, readDir func(string) ([]fs.DirEntry, error)) ([]string, error) {
	var found []string
	for _, pattern := range c.Omit {
		hits, err := expand(dir, strings.Split(pattern, "/"), readDir)
		if err != nil {
			return nil, fmt.Errorf("omit %s: %w", pattern, err)
		}
		found = append(found, hits...)
	}
	return found, nil
}

// expand lists what exists in dir under a pattern of whole names.
func expand(dir string, pattern []string, readDir func(string) ([]fs.DirEntry, error)) ([]string, error) {
	entries, err := readDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, err
	}
	if len(entries) > maxListed {
		return nil, fmt.Errorf("%s: more than %d names", dir, maxListed)
	}
	var found []string
	for _, e := range entries {
		if pattern[0] != "*" && pattern[0] != e.Name() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		switch {
		case len(pattern) == 1:
			found = append(found, path)
		case e.IsDir():
			hits, err := expand(path, pattern[1:], readDir)
			if err != nil {
				return nil, err
			}
			found = append(found, hits...)
		}
	}
	return found, nil
}
