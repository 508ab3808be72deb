package review

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/workspace/change"
)

// FuzzNames: every form of a name is harmless on a terminal and gives the name back.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "plain", "a b", "esc\x1b[31m", "\xff", "\u202e", `"q"`, `\`, "tab\t", "\ufffd", "ü"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n := NewName(s)
		back := n.Text
		if n.Bytes != nil {
			back = string(n.Bytes)
			if text, err := strconv.Unquote(n.Text); err != nil || text != s {
				t.Errorf("%q is quoted as %s", s, n.Text)
			}
		}
		if back != s {
			t.Errorf("%q became %q", s, back)
		}
		if strings.ContainsFunc(n.Text, func(r rune) bool { return !strconv.IsPrint(r) }) {
			t.Errorf("%q is shown as %q", s, n.Text)
		}
		q := gitQuote(s)
		if strings.ContainsFunc(q, func(r rune) bool { return r < ' ' || r >= 0x7f }) {
			t.Errorf("%q is quoted as %q", s, q)
		}
		if strings.HasPrefix(q, `"`) {
			// What git writes, Go reads.
			text, err := strconv.Unquote(q)
			if err != nil || text != s {
				t.Errorf("%q is quoted as %s, which is %q: %v", s, q, text, err)
			}
		} else if q != s {
			t.Errorf("%q is quoted as %s", s, q)
		}
	})
}

// TestCoverIsExact: the paths of a cover stand for what was chosen and for nothing
// else, by the rules of a layer: at or below, and both halves of a rename.
func TestCoverIsExact(t *testing.T) {
	name := rapid.StringMatching(`[ab](/[ab]){0,3}`)
	rapid.Check(t, func(rt *rapid.T) {
		var all []change.Change
		chosen := map[string]bool{}
		file := &change.Node{Type: change.File}
		for _, p := range rapid.SliceOfNDistinct(name, 1, 8, rapid.ID[string]).Draw(rt, "paths") {
			c := change.Change{Path: p, New: file}
			if rapid.Bool().Draw(rt, "renamed") {
				c.From, c.Old = name.Draw(rt, "from"), file
			}
			all = append(all, c)
			if rapid.Bool().Draw(rt, "chosen") {
				chosen[p] = true
			}
		}
		paths := cover(all, chosen)
		for _, c := range all {
			hit := paths == nil || slices.ContainsFunc(paths, func(p string) bool { return below(c.Path, p) || c.From != "" && below(c.From, p) })
			if hit && !chosen[c.Path] {
				rt.Fatalf("%q was not chosen, and is covered by %q", c.Path, paths)
			}
			above := slices.ContainsFunc(all, func(o change.Change) bool {
				return !chosen[o.Path] && (below(o.Path, c.Path) || o.From != "" && below(o.From, c.Path))
			})
			if chosen[c.Path] && !hit && !above {
				rt.Fatalf("%q was chosen, and is not covered by %q", c.Path, paths)
			}
		}
	})
}
