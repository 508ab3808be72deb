package knownsecrets

import (
	"path/filepath"
	"strings"
)

// Path reports the row that names this absolute path or a directory it lies in,
// the closest one if there are several. It looks at the words only, not at the
// filesystem: Under also follows symlinks.
func Path(home, abs string) (Entry, bool) {
	if !filepath.IsAbs(abs) {
		return Entry{}, false
	}
	abs = filepath.Clean(abs)
	var rel [roots]string // the part of abs that a row with this root speaks of
	var in [roots]bool
	rel[anywhere], in[anywhere] = filepath.Base(abs), true
	rel[absolute], in[absolute] = below("/", abs)
	rel[inHome], in[inHome] = below(home, abs)

	var found Entry
	closest := len(abs) + 1
	all := paths()
	for i := range all {
		r := &all[i]
		if !in[r.root] {
			continue
		}
		patternLeft, pathLeft, ok := along(r.rest, rel[r.root])
		if ok && patternLeft == "" && (pathLeft == "" || r.tree) && len(pathLeft) < closest {
			found, closest = r.entry, len(pathLeft)
		}
	}
	return found, closest <= len(abs)
}

// below returns path relative to dir, "" if they are the same; false if path is
// not in dir. Both are clean; one that is not absolute is in nothing and holds
// nothing.
func below(dir, path string) (string, bool) {
	if !filepath.IsAbs(dir) || !filepath.IsAbs(path) {
		return "", false
	}
	if dir == "/" {
		return path[1:], true
	}
	rel, ok := strings.CutPrefix(path, dir)
	if !ok || rel == "" {
		return "", ok
	}
	return rel[1:], rel[0] == '/'
}
