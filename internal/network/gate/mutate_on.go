//go:build ringfence_mutate

package gate

import (
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// mutated reports whether the test build was told to leave this defence out.
func mutated(what string) bool {
	return slices.Contains(strings.Split(os.Getenv("RINGFENCE_MUTATE"), ","), what)
}

// kept are the ports that a mutation keeps open when the gate closes.
var kept []*os.File

func keepPort(p rung.Port) {
	if l, ok := p.Listen.(interface{ File() (*os.File, error) }); ok && mutated("ports") {
		f, _ := l.File()
		kept = append(kept, f)
	}
}
