package rungs

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPage: docs/rungs.md lists what does not apply, and nothing else.
func TestPage(t *testing.T) {
	b, err := os.ReadFile("../../docs/rungs.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(b), "**What does not apply.**")
	if !found {
		t.Fatal("docs/rungs.md does not say what does not apply")
	}
	text, _, _ = strings.Cut(text, "\n**")
	var want []string
	for _, r := range apart["gvisor"] {
		what := "whole"
		if r.Part {
			what = "a part"
		}
		want = append(want, fmt.Sprintf("| %s | %s | %s |", r.ID, what, r.Reason))
	}
	var got []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| case") {
			got = append(got, line)
		}
	}
	if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
		t.Errorf("docs/rungs.md has:\n%s\nwant:\n%s", a, b)
	}
}
