package fault

import (
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"a", "", 1}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"log", "logs", 1},
		{"kitten", "mutual", 4}, {"a", strings.Repeat("a", 1<<20), 4},
	} {
		if got := Distance(c.a, c.b, 3); got != c.want {
			t.Errorf("%.10q, %.10q: %d", c.a, c.b, got)
		}
	}
}
