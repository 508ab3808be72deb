package audit

import (
	"os"
	"strings"
	"testing"
)

// The page and the command have one table.
func TestLadderPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/ladder.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), LadderPage()) {
		t.Errorf("docs/ladder.md does not have this table:\n%s", LadderPage())
	}
	for _, l := range Ladder() {
		if BoundaryOf(l.Level) != l || l.Buys == "" || l.Breaks == "" || l.How == "" {
			t.Errorf("%+v", l)
		}
	}
}
