package scan

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"

	"ringfence.dev/ringfence/internal/file"
)

// spot is one name of a rule, taken apart.
type spot struct {
	rule  *rule
	names []string // lower case, outermost first
}

// index finds rules by the last name of a path: every name of a tree is asked about.
type index struct {
	exact   map[string][]spot
	starred map[string][]spot // by what stands behind the last "."
	deep    []spot            // with a parent
}

var indexed = sync.OnceValue(func() *index {
	x := &index{exact: map[string][]spot{}, starred: map[string][]spot{}}
	all := rules()
	for i := range all {
		for _, f := range all[i].Files {
			s := spot{&all[i], strings.Split(strings.ToLower(f), "/")}
			if len(s.names) > 1 {
				x.deep = append(x.deep, s)
			}
			last := s.names[len(s.names)-1]
			if strings.Contains(last, "*") {
				x.starred[path.Ext(last)] = append(x.starred[path.Ext(last)], s)
			} else {
				x.exact[last] = append(x.exact[last], s)
			}
		}
	}
	for _, spots := range []map[string][]spot{x.exact, x.starred} {
		for _, list := range spots { // of two names the longer one says more
			slices.SortStableFunc(list, func(a, b spot) int { return len(b.names) - len(a.names) })
		}
	}
	return x
})

// ruleOf finds the rule for a path, and the directory whose settings it is part of.
func ruleOf(rel string) (*rule, string) {
	x := indexed()
	last := strings.ToLower(rel[strings.LastIndexByte(rel, '/')+1:])
	exact, starred := x.exact[last], x.starred[path.Ext(last)]
	if len(exact) == 0 && len(starred) == 0 {
		return nil, ""
	}
	names := strings.Split(strings.ToLower(rel), "/")
	for _, s := range append(exact[:len(exact):len(exact)], starred...) {
		if n := s.in(names); n >= 0 {
			return s.rule, path.Join(append([]string{"."}, strings.Split(rel, "/")[:n]...)...)
		}
	}
	return nil, ""
}

// in returns how many names of a path stand before those of a spot, -1 if they are not
// there.
func (s *spot) in(names []string) int {
	if !slices.Contains(s.names, "**") {
		if n := len(names) - len(s.names); n >= 0 && slices.EqualFunc(s.names, names[n:], file.Star[string]) {
			return n
		}
		return -1
	}
	for n, name := range names {
		if name == s.names[0] && matchNames(s.names, names[n:]) {
			return n
		}
	}
	return -1
}

// meaning tells by which rules the names below a directory may be judged: how far each
// rule has come with the names that lead there, and whether it would count. Of two
// names of one directory with the same meaning, one is enough.
func (s *scan) meaning(dir string) string {
	names := strings.Split(strings.ToLower(dir), "/")
	var out []string
	for i, spot := range indexed().deep {
		for n := range names {
			home := path.Join(append([]string{"."}, strings.Split(dir, "/")[:n]...)...)
			for _, left := range rest(spot.names, names[n:]) {
				out = append(out, itoa(i)+" "+itoa(left)+" "+strconv.FormatBool(s.starts(home)))
			}
		}
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ",")
}

// rest lists how many names of a pattern may be left behind those that are given.
func rest(pattern, names []string) (out []int) {
	switch {
	case len(pattern) == 0:
		return nil
	case len(names) == 0:
		return []int{len(pattern)}
	case pattern[0] == "**":
		return append(rest(pattern, names[1:]), rest(pattern[1:], names)...)
	case file.Star(pattern[0], names[0]):
		return rest(pattern[1:], names[1:])
	}
	return nil
}
