package scan

import (
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// allowed is a setting that is known to be harmless in one place, written as the path
// of a key, if its value passes a test.
type allowed struct {
	path []string
	test hostexec.Test
}

// standing is where a value stands among those that are allowed.
type standing int

const (
	strange  standing = iota // nothing is known of this place
	onTheWay                 // harmless settings, or dangerous ones, may stand below it
	harmless
)

// stands looks a value up. Names are compared as they are: no agent whose settings
// are judged so folds them.
func (r *rule) stands(at []string, v *node) standing {
	found := strange
	for _, a := range r.allowed {
		switch n := len(at); {
		case !slices.EqualFunc(a.path[:min(n, len(a.path))], at[:min(n, len(a.path))], sameName):
		case n > len(a.path) || n == len(a.path) && !a.test("", v):
		case n == len(a.path):
			return harmless
		case tableOrList(v, a.path[n]):
			found = onTheWay
		}
	}
	for _, k := range r.Find { // what is taken out leaves an empty table behind
		if way := strings.Split(k.Path, "."); way[0] != "**" && len(at) < len(way) && matchNames(way[:len(at)], at) && tableOrList(v, way[len(at)]) {
			found = onTheWay
		}
	}
	return found
}

func sameName(pattern, name string) bool { return pattern == "*" && name != "[]" || pattern == name }

// tableOrList: a value can have an element of this name.
func tableOrList(v *node, name string) bool {
	if name == "[]" {
		return v.Kind == '['
	}
	return v.Kind == '{'
}

// writes: a mark stands in a text, which the agent replaces by a variable or a file.
func (r *rule) writes(s string) bool {
	return slices.ContainsFunc(r.Marks, func(m string) bool { return strings.Contains(s, m) })
}
