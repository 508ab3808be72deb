package hostexec

import (
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
	if c.asked > 4*deep {
		t.Errorf("%d questions about %d directories", c.asked, deep)
	}
}
