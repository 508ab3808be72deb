package rungs

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestPage: docs/rungs.md lists what does not apply to each rung, and nothing else.
func TestPage(t *testing.T) {
	b, err := os.ReadFile("../../docs/rungs.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, rows := range apart {
		_, text, found := strings.Cut(string(b), "\n## "+name+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
		_, text, says := strings.Cut(text, "**What does not apply.**")
		if !found || !says {
			t.Fatalf("docs/rungs.md does not say what does not apply to %s", name)
		}
		text, _, _ = strings.Cut(text, "\n**")
		var want, got []string
		for _, r := range rows {
			what := "whole"
			if r.Part {
				what = "a part"
			}
			want = append(want, fmt.Sprintf("| %s | %s | %s |", r.ID, what, r.Reason))
		}
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| case") {
				got = append(got, line)
			}
		}
		if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
			t.Errorf("docs/rungs.md has of %s:\n%s\nwant:\n%s", name, a, b)
		}
	}
}
