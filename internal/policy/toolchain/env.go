package toolchain

import (
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// settings passes the variables of all toolchains that point to what is visible,
// and only there: a variable must not tell of what is not.
func (f *finder) settings() {
	seen := map[string]bool{}
	for _, c := range data().Toolchain {
		for _, name := range c.Env {
			value := f.Env(name)
			if value != "" && !seen[name] && f.points(value) {
				f.found.Env = append(f.found.Env, Setting{name, value})
			}
			seen[name] = true
		}
	}
}

// points reports whether every path of a list is visible, or is the root of
// something visible.
func (f *finder) points(value string) bool {
	for _, p := range strings.Split(value, ":") {
		if p = filepath.Clean(p); !filepath.IsAbs(p) || !f.visible(p) && !f.leads(p) {
			return false
		}
	}
	return true
}

// leads reports whether something visible lies below a directory that is not
// above HOME.
func (f *finder) leads(dir string) bool {
	for _, r := range f.found.Roots {
		if file.Within(r.Path, dir) {
			return !file.Within(f.Home, dir)
		}
	}
	return false
}
