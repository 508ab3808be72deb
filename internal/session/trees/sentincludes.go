package trees

import (
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/file/settings"
)

// Settings of git include others, which may have any name. Where they lie in what is sent they
// go as well. They are read here once more, and not from the descriptor that was listed.

// mostIncludes is how deep git follows.
const mostIncludes = 10

// leadsToLogin holds for settings of git that include a login. The settings of a git directory
// are looked at with its HEAD too: they may be shown without their own logins, and are then not
// among what is judged.
func (k *Changes) leadsToLogin(p string, begins []byte) bool {
	dir, base := filepath.Split(p)
	switch base {
	case "config", "config.worktree":
		return k.includesLogin(p, begins, 0)
	case "HEAD":
		for _, name := range []string{"config", "config.worktree"} {
			at := filepath.Join(dir, name)
			if text, err := file.Read(at, maxSecret, 0); err == nil && gitHolds(dir) && k.includesLogin(at, text, 0) {
				return true
			}
		}
	}
	return false
}

// includesLogin follows the includes of one file, whatever they depend on.
func (k *Changes) includesLogin(p string, text []byte, depth int) bool {
	entries, err := settings.ParseGit(text)
	if err != nil {
		return depth > 0 // what is not included was judged already
	}
	for _, e := range entries {
		if s := strings.ToLower(e.Section()); s != "include" && s != "includeif" || !strings.EqualFold(e.Name(), "path") {
			continue
		}
		at, err := filepath.EvalSymlinks(k.included(p, e.Value))
		if err != nil {
			continue // nothing is there
		}
		root, _ := k.sentRoot(at)
		if root == "" || k.covered(at) {
			continue
		}
		next, err := file.Read(at, maxSecret, unix.O_NOFOLLOW)
		if err != nil || depth == mostIncludes {
			return true
		}
		_, found, err := settings.WithoutGitLogins(next)
		if (err != nil || len(found) > 0) && !k.trees.masking.tells(root, at, next) || k.includesLogin(at, next, depth+1) {
			return true
		}
	}
	return false
}

// included is what a path in settings of git means.
func (k *Changes) included(by, path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(k.User.Home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	real, err := filepath.EvalSymlinks(by) // it is relative to the file that a link leads to
	if err != nil {
		real = by
	}
	return filepath.Join(filepath.Dir(real), path)
}
