//go:build ringfence_mutate

package far

import (
	"os"
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// LeftOut is what a far end is to leave out, which the near end believes to be there: "far-" and
// the name of it.
func LeftOut() (string, bool) { return strings.CutPrefix(os.Getenv("RINGFENCE_MUTATE"), "far-") }

// mutate takes walls away at the far end. The near end planned them, and asks for them.
func mutate(p *plan.Plan) { p.Without(os.Getenv("RINGFENCE_MUTATE")) }

// childEnv hands on what is to be left out.
func childEnv() []string {
	what, _ := LeftOut()
	return []string{"RINGFENCE_MUTATE=" + what}
}
