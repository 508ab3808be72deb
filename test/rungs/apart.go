package rungs

import "testing"

// Row is a case of a suite that does not apply to a rung, or of which a part does not.
// docs/rungs.md has the same rows.
type Row struct {
	ID     string
	Part   bool // the case is played, but for what the reason names
	Reason string
}

// apart are the rows of each rung.
var apart = map[string][]Row{
	"container": {
		{"LA-001a", false, "the engine starts what raises the walls, so that a filter on ringfence itself does not reach it; `test/mutate` leaves each wall out"},
		{"LA-001b", false, "as LA-001a"},
	},
	"gvisor": {
		{"EP-009", true, "the sentry tells the numbers of its own namespaces of any process; nobody can enter them"},
		{"FW-006", false, "gVisor cannot exchange two names"},
		{"KN-002b", false, "gVisor's table of mounts does not tell `nodev`; KN-002 tries device nodes"},
		{"RF-004", false, "in the review view no hard link is made, on any rung, and semaphores of POSIX are made by one"},
		{"RF-006", true, "`strace` is refused: gVisor asks the filter before a tracer and not again. Debuggers work"},
		{"RF-010", false, "in the review view no hard link is made, on any rung"},
		{"RF-114", false, "pipes and sockets with a name stay in the sentry: the workspace never has them"},
		{"RS-001", true, "the processes of the agent are threads of the sentry: at the limit the session ends"},
	},
}

// Skip leaves a case out that does not apply.
func Skip(t testing.TB, id string) {
	t.Helper()
	for _, r := range apart[Name()] {
		if r.ID == id && !r.Part {
			t.Skip(r.Reason)
		}
	}
}
