//go:build ringfence_mutate

package gate

import (
	"os"
	"slices"
	"strings"
)

// kept is what a mutation keeps hold of.
var kept []any

// mutated reports whether the test build was told to leave this defence out, and
// keeps hold of what a defence would have let go.
func mutated(what string, keep ...any) bool {
	if !slices.Contains(strings.Split(os.Getenv("RINGFENCE_MUTATE"), ","), what) {
		return false
	}
	kept = append(kept, keep...)
	return true
}
