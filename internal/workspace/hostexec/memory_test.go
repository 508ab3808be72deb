package hostexec

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// counting is an empty tree that counts what it is asked.
type counting struct{ asked int }

func (c *counting) At(string) (Kind, bool) { c.asked++; return 0, false }

// TestMemoryOfADeepTree: each directory is asked about once, not once for each below it.
func TestMemoryOfADeepTree(t *testing.T) {
	rules, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	const deep = 400
	c := &counting{}
	m := &Memory{Tree: c}
	for n := 1; n <= deep; n++ {
		rules.JudgeIn(m, strings.Repeat("d/", n)+"f", KindFile)
	}
	if c.asked > 2*deep {
		t.Errorf("%d questions about %d directories", c.asked, deep)
	}
	if n := len(m.steps); n != deep+1 {
		t.Errorf("%d steps for %d directories", n, deep)
	}
}

// heads is a tree in which some directories have what makes them git's.
type heads map[string]bool

func (h heads) At(rel string) (Kind, bool) { return KindFile, h[rel] }

// TestMemoryForgetsNothing: who remembers the way finds the same git directories as who
// asks anew for each path, in whatever order.
func TestMemoryForgetsNothing(t *testing.T) {
	builtin, err := Builtin()
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"a", "b", ".git", ".GIT", "modules", "worktrees", "ab"}
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func() string {
		var parts []string
		for range 1 + rnd.IntN(7) {
			parts = append(parts, names[rnd.IntN(len(names))])
		}
		return strings.Join(parts, "/")
	}
	for range 200 {
		tree := heads{}
		for range 12 {
			dir := random()
			for _, name := range []string{"HEAD", "objects", "refs"}[:1+rnd.IntN(3)] {
				tree[dir+"/"+name] = true
			}
		}
		tree["HEAD"] = rnd.IntN(4) == 0
		m := &Memory{Tree: tree}
		for range 200 {
			rules, rel := builtin, random()
			if rnd.IntN(8) == 0 {
				rules = builtin.InGit()
			}
			got, want := rules.gitPlaces(nil, m, rel), rules.gitPlaces(nil, tree, rel)
			if !slices.Equal(got, want) {
				t.Fatalf("%q: %+v, want %+v", rel, got, want)
			}
		}
	}
}
