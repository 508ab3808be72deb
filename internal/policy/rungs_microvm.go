//go:build ringfence_microvm

package policy

import "slices"

func init() { rungs = slices.Insert(rungs, slices.Index(rungs, "gvisor")+1, "microvm") }
