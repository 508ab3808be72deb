//go:build ringfence_ssh

package policy

func init() { rungs = append(rungs, rungOfMachines) }
