package hostexec

import (
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// maxKey bounds the name of a setting: two kinds of stars cost its square.
const maxKey = 512

// globKey compares the name of a setting with a pattern in which "*" is any
// characters but "." and "**" is any characters. "**." at the start may be nothing.
func globKey(pattern, key string) bool {
	if len(key) > maxKey {
		return false
	}
	rest, deep := strings.CutPrefix(pattern, "**.")
	return deep && rest != "" && globKey(rest, key) || file.Wild(pattern, key, '.')
}
