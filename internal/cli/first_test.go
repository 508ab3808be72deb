package cli

import (
	"strings"
	"testing"
)

func TestFirstCardIsShort(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(firstCard), "\n")
	if len(lines) > 12 {
		t.Errorf("%d lines", len(lines))
	}
	for _, l := range lines {
		if cellWidth(l) > 80 {
			t.Errorf("%d columns: %q", cellWidth(l), l)
		}
	}
	for _, word := range []string{"fenced", "not fenced", "ringfence why", "ringfence grant", "ringfence log"} {
		if !strings.Contains(firstCard, word) {
			t.Errorf("it does not say %q", word)
		}
	}
}
