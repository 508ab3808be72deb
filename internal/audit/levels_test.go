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
	if !strings.Contains(string(page), ladderPage()) {
		t.Errorf("docs/ladder.md does not have this table:\n%s", ladderPage())
	}
	for _, l := range Ladder() {
		if BoundaryOf(l.Level) != l || l.Buys == "" || l.Breaks == "" || l.How == "" {
			t.Errorf("%+v", l)
		}
	}
}

// ladderPage is the table for docs/ladder.md.
func ladderPage() string {
	var b strings.Builder
	b.WriteString("| level | what stands there | what it buys | what breaks it | how |\n|---|---|---|---|---|\n")
	for _, l := range Ladder() {
		b.WriteString("| " + strings.Join([]string{l.Level, l.Title, l.Buys, l.Breaks, l.How}, " | ") + " |\n")
	}
	return b.String()
}
