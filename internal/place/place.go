// Package place compares paths by components. It looks at no file: who needs to
// know where a link leads resolves it first.
package place

import "strings"

// Within reports whether path is dir or lies below it. Both are absolute and clean;
// "/a-b" does not lie in "/a".
func Within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
