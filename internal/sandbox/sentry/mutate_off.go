//go:build !ringfence_mutate

package sentry

import "ringfence.dev/ringfence/internal/file/sys"

// Only a test build can leave a defence out.
func mutated(string) bool    { return false }
func passed() []string       { return nil }
func mutateChild(*sys.Spawn) {}
func mutateBundle(*spec)     {}
