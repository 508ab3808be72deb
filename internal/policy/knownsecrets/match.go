package knownsecrets

import "strings"

// match reports whether s is the pattern, in which * stands for any run of
// bytes. Taking each middle part at its first place is right because only the
// last part is tied to the end.
func match(pattern, s string) bool {
	part, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, part)
	for ok {
		if part, rest, star = strings.Cut(rest, "*"); !star {
			return strings.HasSuffix(s, part)
		}
		_, s, ok = strings.Cut(s, part)
	}
	return false
}

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
		if !match(want, have) {
			return "", "", false
		}
	}
	return pattern, path, true
}
