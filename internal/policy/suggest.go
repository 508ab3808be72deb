package policy

import (
	"fmt"

	"ringfence.dev/ringfence/internal/fault"
)

// suggest returns a hint naming the known word nearest to got, or "".
func suggest(got string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := fault.Distance(got, k, 2); d < least && d < len(k) {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", best)
}
