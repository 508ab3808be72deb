package scan

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// allowed is a setting that is known to be harmless in one place, written as the path
// of a key. Its value is a word, a number or a list of them, or passes a test of its own.
type allowed struct {
	path []string
	test func(v *node) bool // nil: any plain value
}

// allow lists settings by one test, below one path. Of a list each element is judged.
func allow(test func(v *node) bool, below string, names ...string) []allowed {
	var out []allowed
	for _, n := range names {
		if below != "" {
			n = below + "." + n
		}
		out = append(out, allowed{strings.Split(n, "."), test}, allowed{strings.Split(n+".[]", "."), test})
	}
	return out
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
		case n > len(a.path) || n == len(a.path) && !a.lets(v):
		case n == len(a.path):
			return harmless
		case tableOrList(v, a.path[n]):
			found = onTheWay
		}
	}
	for _, k := range r.keys { // what is taken out leaves an empty table behind
		if way := strings.Split(k.path, "."); way[0] != "**" && len(at) < len(way) && matchNames(way[:len(at)], at) && tableOrList(v, way[len(at)]) {
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

func (a *allowed) lets(v *node) bool {
	if a.test != nil {
		return a.test(v)
	}
	return plainValue(v)
}

// plainValue: a bare word, or text in which nobody puts anything else.
func plainValue(v *node) bool { return v.Kind == 0 || v.Kind == '"' && plainly(v.Text) }

// plainly: there is nothing in a text that people do not see.
func plainly(s string) bool {
	return !strings.ContainsFunc(strings.ReplaceAll(s, "\r\n", "\n"), func(r rune) bool {
		return r == utf8.RuneError || r != '\n' && r != '\t' && hostexec.Invisible(r)
	})
}

// written is what an agent puts into its settings: a variable or a file, for a mark.
type written struct {
	marks []string
	// first: it does so before it reads the text, so in names and comments too.
	first bool
}

func (w *written) in(s string) bool {
	return w != nil && slices.ContainsFunc(w.marks, func(m string) bool { return strings.Contains(s, m) })
}

var (
	opencodeWrites = &written{[]string{"{env:", "{file:"}, true}
	geminiWrites   = &written{[]string{"$"}, false}
)

// These are tests for what is harmless by its value.

func is(words ...string) func(*node) bool {
	return func(v *node) bool { return (v.Kind == '"' || v.Kind == 0) && slices.Contains(words, v.Text) }
}

func bareWord(v *node) bool { return v.Kind == 0 }

// inProject: a path in the project.
func inProject(v *node) bool {
	return v.Kind == '"' && plainly(v.Text) && !outside("", v) && !address("", v)
}

// narrow: a permission that is not broad.
func narrow(v *node) bool { return v.Kind == '"' && plainly(v.Text) && !broad("", v) }

// noShell: the text of a command, in which opencode runs what stands in !`…`.
func noShell(v *node) bool {
	return v.Kind == '"' && plainly(v.Text) && !strings.Contains(v.Text, "!`")
}
