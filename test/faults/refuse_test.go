package faults

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEveryWallStandsOrNothingRuns lets the kernel refuse one call after the
// other while PID 1 builds the view and raises the walls. Whichever it is, the
// launch must end with the reason, the agent must not have run, and nothing may
// be left.
func TestEveryWallStandsOrNothingRuns(t *testing.T) {
	build(t)
	eyes, missed := newWatch(t, project), 0
	stops := steps(t)
	for _, at := range stops {
		before := look(t)
		l := follow(t, inside, func(s stop, _ [6]uint64) action {
			if s == at {
				return action{fail: syscall.EPERM}
			}
			return action{}
		})
		if !l.acted {
			missed++
			continue
		}
		problems := slices.Concat(l.left, eyes.events(t), before.leftovers(t))
		if strings.Contains(l.stderr, "this host lets no overlayfs be mounted here") {
			continue // said aloud, and what would be held back is refused
		}
		if l.status.ExitStatus() != 125 || !strings.Contains(l.stderr, "ringfence: error: ") {
			problems = append(problems, fmt.Sprintf("status %#x without a reason", l.status))
		}
		if l.stdout != "" {
			problems = append(problems, "the agent ran")
		}
		if len(problems) > 0 {
			t.Errorf("refused %v:\n  %s\n%s", at, strings.Join(problems, "\n  "), l.stderr)
		}
	}
	if t.Logf("refused at %d of %d steps", len(stops)-missed, len(stops)); missed > len(stops)/4 {
		t.Errorf("%d of %d steps were not reached", missed, len(stops))
	}
}

// steps are the calls of PID 1 that a wall stands on, some of each kind for each user: from the
// first after it was executed to the one that loads the filter. What comes later
// are probes, which want to be refused.
func steps(t *testing.T) []stop {
	t.Helper()
	kinds, filtered := map[uint64][]stop{}, false
	l := follow(t, inside, func(s stop, args [6]uint64) action {
		if !filtered && s.done && wall(s.call, args) {
			kinds[s.call] = append(kinds[s.call], s)
		}
		filtered = filtered || s.call == unix.SYS_SECCOMP && s.done
		return action{}
	})
	if !filtered || len(kinds[unix.SYS_PIVOT_ROOT]) != 1 {
		t.Fatalf("no view or no filter was seen\n%s", l.stderr)
	}
	var out []stop
	for _, all := range kinds {
		out = append(out, share(spread(all, 4))...)
	}
	return out
}

// wall reports whether a call belongs to a wall or the view, and not to the Go
// runtime or to tidying.
func wall(call uint64, args [6]uint64) bool {
	switch call {
	case unix.SYS_PRCTL:
		return args[0] != unix.PR_SET_VMA && args[0] != unix.PR_CAPBSET_READ
	case unix.SYS_PRLIMIT64: // the runtime raises open files for itself
		return args[1] != unix.RLIMIT_NOFILE
	case unix.SYS_EXECVE, unix.SYS_CLONE, unix.SYS_READ, unix.SYS_UNLINKAT:
		return false
	}
	return effects[call] != ""
}
