//go:build ringfence_microvm

package policy

func init() { rungs = append(rungs, "microvm") }
