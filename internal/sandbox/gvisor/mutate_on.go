//go:build ringfence_mutate

package gvisor

import (
	"os"

	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// mutated reports whether the test build was told to leave this defence out.
func mutated(what string) bool { return os.Getenv("RINGFENCE_MUTATE") == what }

// mutateCapture does to the rules of the veth pair what was done to those that they replace.
func mutateCapture(c *plan.Capture) { netns.Mutate(c, os.Getenv("RINGFENCE_MUTATE")) }
