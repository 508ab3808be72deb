//go:build !ringfence_microvm

package ladder

import (
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/rung"
)

// further are the rungs above the others: none until what holds them is proved.
func further(policy.Rung) []rung.Rung { return nil }
