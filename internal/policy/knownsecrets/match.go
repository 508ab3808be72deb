package knownsecrets

import (
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// along walks a pattern and a path side by side, segment by segment, and returns
// what is left of each when one of them ends; false when they part before that.
func along(pattern, path string) (patternLeft, pathLeft string, ok bool) {
	if pattern != "" && path != "" && pattern[0] != path[0] && pattern[0] != '*' {
		return "", "", false // most rows end here
	}
	for pattern != "" && path != "" {
		var want, have string
		want, pattern, _ = strings.Cut(pattern, "/")
		have, path, _ = strings.Cut(path, "/")
		if !file.Star(want, have) {
			return "", "", false
		}
	}
	return pattern, path, true
}
