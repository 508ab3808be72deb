package toolchain

import (
	"path/filepath"

	"ringfence.dev/ringfence/internal/file"
)

// refused returns why an entry must not stay, whatever it holds.
func (f *finder) refused(names ...string) string {
	for _, r := range data().Refuse {
		for _, name := range names {
			if _, ok := above(r.Path, f.Home, name); ok {
				return r.Reason
			}
		}
	}
	return ""
}

// own are the places that the sandbox has of its own: nothing of the host's is
// ever shown there.
var own = []string{"/tmp", "/var/tmp", "/dev", "/proc", "/sys", "/run", "/etc", "/boot"}

// against returns what speaks against showing a directory that no list knows,
// "" if nothing does. Both names count: the one it has and the one it leads to.
func (f *finder) against(dir, resolved string) string {
	for _, name := range []string{dir, resolved} {
		if file.Within(f.Home, name) {
			return "holds HOME"
		}
		if parent := filepath.Dir(name); parent == "/" || parent == "/home" {
			return "holds more than programs"
		}
		for _, ws := range f.Workspaces {
			if file.Within(ws, name) {
				return "holds the workspace and what lies beside it"
			}
		}
		for _, o := range own {
			if file.Within(name, o) && !file.Within(name, f.Home) {
				return "inside, " + o + " is private"
			}
		}
		if what := f.Credential(name); what != "" {
			return "holds a credential: " + what
		}
	}
	info, err := f.Look.Stat(resolved)
	if err != nil {
		return "no such directory"
	}
	if info.Mode().Perm()&0o002 != 0 {
		return "anyone can write to it"
	}
	return ""
}
