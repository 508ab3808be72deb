package cli

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/cli/table"
)

func TestFirstCardIsShort(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(firstCard), "\n")
	if len(lines) > 12 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if table.Width(l) > 80 {
			t.Errorf("%d columns: %q", table.Width(l), l)
		}
	}
	for _, word := range []string{"fenced", "not fenced", "ringfence why", "ringfence grant", "ringfence log"} {
		if !strings.Contains(firstCard, word) {
			t.Errorf("it does not say %q", word)
		}
	}
}
