// Package file has the one way in which ringfence reads, replaces and locks files,
// and compares paths. Within looks at no file: who needs to know where a link leads
// resolves it first.
package file

import "strings"

// Within reports whether path is dir or lies below it. Both are absolute and clean;
// "/a-b" does not lie in "/a".
func Within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// Nowhere is what a link says that stands on the host for a held file. Nothing can
// ever be made there.
const Nowhere = "/proc/ringfence/held-back-until-reviewed"

// Runs holds where the host executes or obeys what is written: in directories of
// programs, and below every hidden name, where programs have their settings, hooks and
// plugins. Which of those run something is not known of all of them.
func Runs(path string, programs []string) bool {
	for _, dir := range programs {
		if dir != "" && (Within(path, dir) || Within(dir, path)) {
			return true
		}
	}
	return strings.Contains(path, "/.")
}
