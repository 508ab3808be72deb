//go:build !ringfence_mutate

package sentry

// Only a test build can leave a defence out.
func mutated(string) bool { return false }
func passed() []string    { return nil }
func mutateInit()         {}
func mutateBundle(*spec)  {}
