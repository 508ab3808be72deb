//go:build amd64

package microvm

import (
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
)

// TestGuestWalls: a far end in the guest that leaves a wall out is refused by what it says itself
// of it, and nothing runs there. test/mutate does that with every wall, without a machine.
func TestGuestWalls(t *testing.T) {
	t.Parallel()
	for i, wall := range []string{"ipc", "keyring", "seccomp"} {
		if !stage.Mine(i) {
			continue
		}
		f := newFixture(t)
		cmd := f.Cmd("run", "--rung", "microvm", "--net", "none", "--review", "--", "echo", "the agent", "ran")
		cmd.Env = append(cmd.Env, "RINGFENCE_MUTATE=far-"+wall)
		out, err := cmd.CombinedOutput()
		if said := string(out); err == nil || !strings.Contains(said, "wall "+wall+" is missing") || strings.Contains(said, "the agent ran") {
			t.Errorf("without %s: %v\n%s", wall, err, said)
		}
		if left := disks(t, f); len(left) > 0 {
			t.Errorf("without %s: %q is left", wall, left)
		}
	}
}
