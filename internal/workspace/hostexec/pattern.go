package hostexec

import (
	"bytes"
	"errors"
	"strings"

	"ringfence.dev/ringfence/internal/file"
)

// place says where a pattern may begin.
type place int

const (
	anywhere   place = iota
	inGit            // in a git directory
	outsideGit       // outside of all git directories
)

// pattern is one path of the data, taken apart.
type pattern struct {
	text   string
	names  []string // folded, outermost first
	rooted bool     // only at the root of the tree
	whole  bool     // a directory with everything below it
	links  bool     // only symbolic links
	place  place
}

// parsePattern reads the form that hostexec.toml describes.
func parsePattern(text string) (pattern, error) {
	p := pattern{text: text}
	rest, rooted := strings.CutPrefix(text, "/")
	rest, whole := strings.CutSuffix(rest, "/")
	p.rooted, p.whole = rooted, whole
	p.names = strings.Split(fold(rest), "/")
	for _, name := range p.names {
		if name == "" || name == "." || name == ".." {
			return p, errors.New("not a clean path")
		}
	}
	return p, nil
}

func (p *pattern) last() string { return p.names[len(p.names)-1] }

// above compares the names before the last one with what stands before the name
// at hand. from is where the pattern may begin at the earliest.
func (p *pattern) above(path []byte, start, from int) bool {
	for i := len(p.names) - 2; i >= 0; i-- {
		if start <= from {
			return false
		}
		end := start - 1 // the slash
		start = bytes.LastIndexByte(path[:end], '/') + 1
		if start < from || !file.Star(p.names[i], path[start:end]) {
			return false
		}
	}
	return !p.rooted || start == 0
}
