package policy

import (
	"path"
	"strings"
)

// Expand returns the clean form of p with ~/ resolved. Without a home ~/ stays,
// and a relative path (a mask) stays relative.
func Expand(p, home string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok && home != "" {
		return path.Join(home, rest)
	}
	return path.Clean(p)
}

// relative reports whether a mask is taken in every workspace.
func relative(p string) bool { return !path.IsAbs(p) && !strings.HasPrefix(p, "~/") }
