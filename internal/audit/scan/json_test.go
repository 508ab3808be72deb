package scan

import "testing"

// TestLinesOfTOML: the scan once searched the text for the name of a setting. It found
// no quoted name, and a name in another table.
func TestLinesOfTOML(t *testing.T) {
	n, _, err := parseTOML([]byte("x = 1\n\"quoted\" = 2\n[mcp]\n# command = 1\n[mcp.a]\nargs = []\n[mcp.b]\ncommand = \"b\"\n[mcp.a.env]\ncommand = \"a\"\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line int
		path []string
	}{{2, []string{"quoted"}}, {8, []string{"mcp", "b", "command"}}, {10, []string{"mcp", "a", "env", "command"}}} {
		if got := n.Get(c.path...); got == nil || got.Line != c.line {
			t.Errorf("%q: %+v, want line %d", c.path, got, c.line)
		}
	}
}
