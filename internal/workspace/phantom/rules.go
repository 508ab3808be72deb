package phantom

import "strings"

// Rules say by name which files of a tree are masked. They are not changed once made.
type Rules struct {
	own      []pattern
	revealed []pattern
}

// Builtin are the names that tools and people give to files of secrets.
func Builtin() *Rules { return &Rules{} }

// With adds a project's own: a name or a glob without a slash counts in every
// directory, one with a slash from the root of the tree. ** is any number of
// directories. What is below a directory that is named is meant too.
func (r *Rules) With(names []string) (*Rules, error) {
	own := r.own[:len(r.own):len(r.own)]
	for _, n := range names {
		p, err := parse(n)
		if err != nil {
			return nil, err
		}
		own = append(own, p)
	}
	return &Rules{own: own, revealed: r.revealed}, nil
}

// Without takes paths out: exact ones from the root of the tree, or globs, where * does
// not go over a slash. Letters count as they are, and what is no glob reveals nothing
// but the file of just that name.
func (r *Rules) Without(paths []string) *Rules {
	out := r.revealed[:len(r.revealed):len(r.revealed)]
	for _, p := range paths {
		out = append(out, parseExact(p))
	}
	return &Rules{own: r.own, revealed: out}
}

// Match reports whether the file at rel, relative to its tree, is masked if its
// content does not say otherwise. What is below a .git is git's own.
func (r *Rules) Match(rel string) bool {
	base := rel[strings.LastIndexByte(rel, '/')+1:]
	if !r.listed(rel) && !known(base) && !knownPath(rel, base) || inGit(rel) {
		return false
	}
	for i := range r.revealed {
		if r.revealed[i].exact(rel) {
			return false
		}
	}
	return true
}

func (r *Rules) listed(rel string) bool {
	for i := range r.own {
		if r.own[i].match(rel) {
			return true
		}
	}
	return false
}

func inGit(rel string) bool {
	for {
		dir, rest, found := strings.Cut(rel, "/")
		if !found {
			return false
		}
		if foldEqual(dir, ".git") {
			return true
		}
		rel = rest
	}
}
