//go:build !ringfence_ssh

package ladder

import (
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// elsewhere are the rungs that stand on another machine.
func elsewhere(*policy.Policy) []rung.Rung { return nil }
