//go:build ringfence_mutate

package gvisor

import "os"

// mutated reports whether the test build was told to leave this defence out.
func mutated(what string) bool { return os.Getenv("RINGFENCE_MUTATE") == what }
