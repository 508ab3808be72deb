//go:build !ringfence_mutate

package gvisor

import "ringfence.dev/ringfence/internal/sandbox/plan"

// mutated reports nothing: only a test build can leave a defence out.
func mutated(string) bool { return false }

func mutateCapture(*plan.Capture) {}
