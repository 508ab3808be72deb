package hostexec

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/file"
)

// Pushed tells which paths a forge or its CI runs once they are pushed. It is made of
// the same data by which a session's changes are ranked: what a review would call a
// CI file is what a push is refused for.
type Pushed struct {
	exact map[string]bool // folded names, of whichever element
	stars []string
	paths []pushedPath
}

// pushedPath is one pattern: a name at the root, or one in a directory there.
type pushedPath struct{ text, first, second string }

// OnPush returns what runs on a push. It is read when it is first asked for.
func OnPush() (*Pushed, error) { return onPush() }

var onPush = sync.OnceValues(func() (*Pushed, error) {
	d, err := decode("hostexec.toml", embedded)
	if err != nil {
		return nil, err
	}
	out := &Pushed{exact: map[string]bool{}}
	for _, r := range d.rules {
		for _, text := range r.paths {
			if !r.push {
				continue
			}
			p, err := parsePattern(text)
			if err != nil || len(p.names) > 2 || r.within != "" || r.links {
				return nil, fmt.Errorf("hostexec.toml: %q cannot be looked for in a push", text)
			}
			for _, n := range p.names {
				if strings.Contains(n, "*") {
					out.stars = append(out.stars, n)
				} else {
					out.exact[n] = true
				}
			}
			out.paths = append(out.paths, pushedPath{strings.Trim(text, "/"), p.names[0], strings.Join(p.names[1:], "")})
		}
	}
	if len(out.paths) == 0 {
		return nil, fmt.Errorf("hostexec.toml: nothing runs on a push")
	}
	return out, nil
})

// Part reports whether a name may be an element of a path that runs: nearly none is.
func (p *Pushed) Part(name string) bool {
	name = fold(name)
	return p.exact[name] || slices.ContainsFunc(p.stars, func(star string) bool { return file.Star(star, name) })
}

// Leads reports whether a directory at the root may hold what runs.
func (p *Pushed) Leads(first string) bool {
	first = fold(first)
	return slices.ContainsFunc(p.paths, func(path pushedPath) bool { return path.second != "" && file.Star(path.first, first) })
}

// Runs names what covers something at the root, or in a directory there: patterns, or
// where one has a star what it stands for. A link or a file where a directory belongs
// counts for all that could lie in it.
func (p *Pushed) Runs(first, second string, directory bool) (out []string) {
	low, below := fold(first), fold(second)
	for _, path := range p.paths {
		switch {
		case !file.Star(path.first, low):
		case path.second == "" && second == "", path.second != "" && second == "" && !directory,
			path.second != "" && second != "" && file.Star(path.second, below):
			name := path.text
			if strings.Contains(name, "*") {
				name = strings.Trim(first+"/"+second, "/")
			}
			out = append(out, name)
		}
	}
	return out
}
