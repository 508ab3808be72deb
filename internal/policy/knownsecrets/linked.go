package knownsecrets

import (
	"path/filepath"
	"strings"
	"syscall"
)

// Linked reports the catalogued files of home that have a second name somewhere
// on the filesystem of dir. If that name lies in a mounted tree, the credential
// is visible there and no path tells. Finding it would mean to walk the tree;
// asking the few credentials for their link count costs the same for any tree.
func Linked(home, dir string) []Finding {
	var at, st syscall.Stat_t
	if err := syscall.Stat(dir, &at); err != nil || !filepath.IsAbs(home) {
		return nil // a dir that is not there cannot be mounted either
	}
	var found []Finding
	for _, f := range There(home) {
		if syscall.Lstat(f.Path, &st) == nil && st.Mode&syscall.S_IFMT == syscall.S_IFREG && st.Nlink > 1 && st.Dev == at.Dev {
			found = append(found, f)
		}
	}
	return found
}

// There lists the locations of home that rows name outright and that exist.
func There(home string) []Finding {
	var found []Finding
	seen := listings{}
	for _, r := range paths() {
		if r.root != inHome || strings.Contains(r.rest, "*") {
			continue
		}
		if path := home + "/" + r.rest; seen.may(home, r.rest) && exists(path) {
			found = append(found, Finding{Path: path, Entry: r.entry})
		}
	}
	return found
}
