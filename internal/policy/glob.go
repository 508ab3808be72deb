package policy

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

const (
	maxGlob  = 1024 // bytes
	maxGlobs = 256  // in one list of a file

	patternGlob   = `^[^/~](.*[^/])?$`
	patternReveal = `^(/|~/|[^/~])(.*[^/])?$`
)

// checkGlob takes a relative path in which * is any text of a name, ? one character,
// [a-z] one of some, and ** any number of directories.
func checkGlob(v string) error {
	if path.IsAbs(v) || strings.HasPrefix(v, "~/") {
		return fmt.Errorf("%q is not relative: masks hold in every workspace", v)
	}
	return checkReveal(v)
}

// checkReveal takes the same, and a path of the host.
func checkReveal(v string) error {
	if err := checkText(v); err != nil {
		return err
	}
	if v == "" || len(v) > maxGlob {
		return fmt.Errorf("a path or glob has 1 to %d bytes", maxGlob)
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(v, "~/"), "/")
	if rel == v && v[0] == '~' {
		return fmt.Errorf("%q is neither ~/… nor plainly relative: write ?%s for a file of that name", v, v[1:])
	}
	for part := range strings.SplitSeq(rel, "/") {
		if err := checkPart(part); err != nil {
			return fmt.Errorf("%q: %w", v, err)
		}
	}
	return nil
}

// checkPart judges one name of a glob.
func checkPart(part string) error {
	switch {
	case part == "":
		return errors.New("a name is empty: no slash stands at the end or twice")
	case part == ".." || part == ".":
		return fmt.Errorf("%q: write the path it leads to", part)
	case part != "**" && strings.Contains(part, "**"):
		return errors.New("** stands alone between slashes")
	}
	if _, err := path.Match(part, ""); err != nil {
		return errors.New(`a [ or a \ has no end`)
	}
	return nil
}

// meta are the characters of a glob that are not themselves.
const meta = `*?[\`

// globCovers reports whether every path that v means is one of p's. It may say no
// where that would need a closer look.
func globCovers(p, v string) bool {
	return file.Names(strings.Split(p, "/"), strings.Split(v, "/"), partCovers)
}

func partCovers(p, v string) bool {
	switch {
	case v == "**":
		return false
	case p == v || p == "*":
		return true
	case strings.ContainsAny(p, `?[\`) || strings.ContainsAny(v, `?[\`):
		return false
	}
	// A star of v is a character that only a star of p takes.
	ok, err := path.Match(p, v)
	return err == nil && ok
}
