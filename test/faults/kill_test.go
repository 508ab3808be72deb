package faults

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/tier"
)

// follower runs a launch under a visitor: follow or followOnTerminal.
type follower func(*testing.T, role, visitor) launch

// record follows a launch that nobody disturbs and returns the stops of a victim in
// the order in which they came.
func record(t *testing.T, run follower, who role) []stop {
	t.Helper()
	var seen []stop
	l := run(t, who, func(s stop, _ [6]uint64) action {
		seen = append(seen, s)
		return action{}
	})
	if code(l.status) != 3 || len(l.left) > 0 {
		t.Fatalf("a launch that nobody disturbs ended with %#x and left %q\n%s", l.status, l.left, l.stderr)
	}
	return seen
}

// TestKillAtEveryStep kills the supervisor, and PID 1 of the sandbox, before and
// after every kind of step that a session takes from its start to its end. Each
// time everything must be gone, nothing may have been written but whole state of
// the project, and the next launch must work. Where every combination is played, it is
// every single call, which takes the better part of an hour.
func TestKillAtEveryStep(t *testing.T) {
	build(t)
	for _, c := range []struct {
		name         string
		run          follower
		who          role
		each, others int
	}{
		{"supervisor", follow, supervisor, 4, 20},
		{"inside", follow, inside, 2, 20},
		{"supervisor on a terminal", followOnTerminal, supervisor, 2, 5},
		{"inside on a terminal, once confined", followOnTerminal, inside, 3, 5},
	} {
		forget(t)
		seen := record(t, c.run, c.who)
		if strings.HasSuffix(c.name, "confined") { // before, a terminal makes no difference
			seen = seen[slices.IndexFunc(seen, func(s stop) bool { return s.call == unix.SYS_SECCOMP }):]
		}
		stops := choose(seen, c.each, c.others)
		if tier.All() {
			stops = slices.DeleteFunc(seen, func(s stop) bool { return noise[s.call] })
		}
		t.Run(c.name, func(t *testing.T) {
			missed, eyes := 0, newWatch(t, project)
			for _, at := range stops {
				if !killAt(t, c.run, at, eyes) {
					missed++
				}
			}
			// The runtime may do without a call here and there, more so on a busy machine.
			if t.Logf("killed at %d of %d stops", len(stops)-missed, len(stops)); missed > len(stops)/4 {
				t.Errorf("%d of %d stops were not reached", missed, len(stops))
			}
			if left := again(t); len(left) > 0 {
				t.Errorf("after all of them:\n  %s", strings.Join(left, "\n  "))
			}
		})
	}
}

// killAt reports whether the stop was reached.
func killAt(t *testing.T, run follower, at stop, eyes *watch) bool {
	t.Helper()
	if at.who == supervisor {
		forget(t) // so that it goes all the way again
	}
	before := look(t)
	l := run(t, at.who, func(s stop, _ [6]uint64) action { return action{kill: s == at} })
	left := slices.Concat(l.left, eyes.events(t), before.leftovers(t), stateProblems(t, stateDir, true))
	if at.who == inside && l.acted {
		left = append(left, l.survived()...)
	}
	left = append(left, againAfter(t, len(left) == 0)...)
	if len(left) > 0 {
		t.Errorf("killed %v:\n  %s\n%s", at, strings.Join(left, "\n  "), l.stderr)
	}
	return l.acted
}

// survived looks at the supervisor of a sandbox that was killed: it must live to
// tell, by its status and, where nothing had run yet, with a reason.
func (l launch) survived() []string {
	switch status := code(l.status); {
	case l.status.Signaled() || !slices.Contains([]int{125, 137, 3}, status):
		return []string{fmt.Sprintf("the supervisor of a killed sandbox ended with %d", status)}
	case status == 125 && !strings.Contains(l.stderr, "ringfence: error: "):
		return []string{"the launch ended without a reason"}
	}
	return nil
}
