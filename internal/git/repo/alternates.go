package repo

import (
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxAlternates     = 64 << 10 // bytes of one list
	maxAlternateCount = 64
	maxAlternateDepth = 5 // as git's own
)

// alternates returns the object stores that repo borrows from, directly or
// through another. What does not look like a store of somebody's repository is
// left out, as git leaves out what it cannot open: absence is the safe answer.
func (f finder) alternates(repo *Repo) []string {
	if repo.CommonDir == "" {
		return nil
	}
	var found []string
	level := []string{filepath.Join(repo.CommonDir, "objects")}
	for range maxAlternateDepth {
		var next []string
		for _, objects := range level {
			for _, store := range f.borrowed(objects) {
				if !slices.Contains(found, store) && len(found) < maxAlternateCount {
					found = append(found, store)
					next = append(next, store)
				}
			}
		}
		level = next
	}
	return outside(repo.Root(), found)
}

// borrowed reads one objects/info/alternates.
func (f finder) borrowed(objects string) []string {
	d, err := openDir(unix.AT_FDCWD, objects, unix.RESOLVE_NO_SYMLINKS)
	if err != nil {
		return nil
	}
	defer d.close()
	b, err := d.read("info/alternates", maxAlternates)
	if err != nil {
		return nil
	}
	var stores []string
	for line := range strings.Lines(string(b)) {
		path, err := parsePath([]byte(line))
		if err != nil || path[0] == '#' || path[0] == '"' {
			continue
		}
		if store := f.store(d, path); store != "" {
			stores = append(stores, store)
		}
	}
	return stores
}

func (f finder) store(from *dir, path string) string {
	d, err := from.resolve(path)
	if err != nil {
		return ""
	}
	defer d.close()
	gd, err := openDir(d.fd, "..", 0)
	if err != nil {
		return ""
	}
	defer gd.close()
	if filepath.Base(d.path) != "objects" || f.grantable(gd) != nil {
		return ""
	}
	return d.path
}
