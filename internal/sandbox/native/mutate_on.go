//go:build ringfence_mutate

package native

import (
	"os"

	"ringfence.dev/ringfence/internal/sandbox/inside"
)

// insideArgv tells the test build of the inside stage which defence to leave out.
func insideArgv() []string { return []string{inside.Name, os.Getenv("RINGFENCE_MUTATE")} }
