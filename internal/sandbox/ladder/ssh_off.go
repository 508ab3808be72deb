//go:build !ringfence_ssh

package ladder

import (
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// elsewhere are the rungs that stand on another machine: none until what leaves for it is proved.
func elsewhere(policy.Rung) []rung.Rung { return nil }
