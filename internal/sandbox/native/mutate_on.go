//go:build ringfence_mutate

package native

import (
	"os"
	"slices"

	"ringfence.dev/ringfence/internal/sandbox/inside"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// insideArgv tells the test build of the inside stage which defence to leave out.
func insideArgv() []string { return []string{inside.Name, os.Getenv("RINGFENCE_MUTATE")} }

// inSentry is the plan of PID 1 on the sentry's kernel, without the filter or what that
// stands on.
func inSentry(p *plan.Plan) *plan.Plan {
	c := p.InSentry()
	if m := os.Getenv("RINGFENCE_MUTATE"); m == "sentry-seccomp" || m == "sentry-privileges" {
		c.Walls = slices.DeleteFunc(c.Walls, func(w plan.Wall) bool { return w == plan.WallSeccomp })
	}
	return c
}
