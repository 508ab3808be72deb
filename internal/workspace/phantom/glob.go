package phantom

import (
	"errors"
	"fmt"
	"strings"
)

// pattern is a glob over the parts of a path.
type pattern struct {
	parts   []string
	literal string // of an exact one
}

const maxPattern = 1024

// parse reads what a project lists.
func parse(name string) (pattern, error) {
	glob := strings.TrimPrefix(name, "./")
	slash := strings.Contains(strings.TrimSuffix(glob, "/"), "/")
	parts, err := cutParts(strings.Trim(glob, "/"))
	if err != nil {
		return pattern{}, fmt.Errorf("mask %q: %w", name, err)
	}
	if !slash {
		parts = append([]string{"**"}, parts...)
	}
	return pattern{parts: append(parts, "**")}, nil // and what is below it
}

// parseExact reads what is to be revealed. What is no glob is a name only.
func parseExact(path string) pattern {
	path = strings.TrimPrefix(path, "./")
	parts, err := cutParts(path)
	if err != nil {
		parts = nil
	}
	return pattern{parts: parts, literal: path}
}

func cutParts(glob string) ([]string, error) {
	if glob == "" || len(glob) > maxPattern || strings.IndexByte(glob, 0) >= 0 {
		return nil, errors.New("a name of one to 1024 bytes is needed")
	}
	parts := strings.Split(glob, "/")
	for _, p := range parts {
		if p == "" || p == "." || p == ".." {
			return nil, errors.New("a path below the tree is needed, without the parts . and .. in it")
		}
		if p != "**" && strings.Contains(p, "**") {
			return nil, errors.New("** stands alone between slashes")
		}
		if !wellFormed(p) {
			return nil, errors.New("a [ or a \\ has no end")
		}
	}
	return parts, nil
}

// wellFormed reports whether each [ has its ] and each \ something after it.
func wellFormed(p string) bool {
	for i := 0; i < len(p); {
		if p[i] == '*' {
			i++
			continue
		}
		_, n := one(p[i:], 0, false)
		if n == 0 {
			return false
		}
		i += n
	}
	return true
}

func (p *pattern) match(rel string) bool { return matchParts(p.parts, rel, true) }

func (p *pattern) exact(rel string) bool {
	return rel == p.literal || len(p.parts) > 0 && matchParts(p.parts, rel, false)
}

// matchParts goes back to the last ** only, so it takes no more than the product of
// both lengths.
func matchParts(parts []string, rel string, fold bool) bool {
	at, back, from := 0, -1, ""
	for rel != "" {
		if at < len(parts) && parts[at] == "**" {
			back, from = at, rel
			at++
			continue
		}
		part, rest, _ := strings.Cut(rel, "/")
		if at < len(parts) && matchPart(parts[at], part, fold) {
			at, rel = at+1, rest
			continue
		}
		if back < 0 {
			return false
		}
		_, from, _ = strings.Cut(from, "/")
		at, rel = back+1, from
	}
	for at < len(parts) && parts[at] == "**" {
		at++
	}
	return at == len(parts)
}

// matchPart is the same for the bytes of one part and *.
func matchPart(p, s string, fold bool) bool {
	at, back, from := 0, -1, 0
	for i := 0; i < len(s); {
		if at < len(p) && p[at] == '*' {
			back, from = at, i
			at++
			continue
		}
		if at < len(p) {
			if ok, n := one(p[at:], s[i], fold); ok {
				at, i = at+n, i+1
				continue
			}
		}
		if back < 0 {
			return false
		}
		from++
		at, i = back+1, from
	}
	for at < len(p) && p[at] == '*' {
		at++
	}
	return at == len(p)
}

// one matches one byte with what stands first in p, which is n bytes long; 0 if it
// has no end.
func one(p string, c byte, fold bool) (ok bool, n int) {
	same := func(a byte) bool { return a == c || fold && lower(a) == lower(c) }
	switch p[0] {
	case '?':
		return true, 1
	case '\\':
		if len(p) < 2 {
			return false, 0
		}
		return same(p[1]), 2
	case '[':
		return class1(p, c, fold)
	}
	return same(p[0]), 1
}

// class1 is a [class], [!class] or [^class].
func class1(p string, c byte, fold bool) (ok bool, n int) {
	i, not := 1, false
	if len(p) > 1 && (p[1] == '!' || p[1] == '^') {
		i, not = 2, true
	}
	for start := i; i < len(p); i++ {
		if p[i] == ']' && i > start {
			return ok != not, i + 1
		}
		lo, hi := p[i], p[i]
		if i+2 < len(p) && p[i+1] == '-' && p[i+2] != ']' {
			hi = p[i+2]
			i += 2
		}
		in := func(b byte) bool { return lo <= b && b <= hi }
		ok = ok || in(c) || fold && (in(lower(c)) || isLower(c) && in(c-'a'+'A'))
	}
	return false, 0
}
