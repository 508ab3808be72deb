//go:build !ringfence_mutate

package far

import "ringfence.dev/ringfence/internal/sandbox/plan"

// mutate takes nothing away: only a test build does.
func mutate(*plan.Plan) {}

// childEnv is empty: nothing of it is for a far end.
func childEnv() []string { return []string{} }
