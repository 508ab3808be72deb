//go:build ringfence_mutate

package inside

import (
	"os"
	"slices"
	"strings"
)

// mutated reports whether the test build was told to leave this defence out.
func mutated(what string) bool {
	return len(os.Args) > 1 && slices.Contains(strings.Split(os.Args[len(os.Args)-1], ","), what)
}
