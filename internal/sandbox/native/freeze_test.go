package native

import (
	"testing"

	"ringfence.dev/ringfence/internal/file/sys"
)

// What waits in the kernel is told to stop, and is not waited for as what runs is.
func TestUnsettled(t *testing.T) {
	for states, want := range map[string]struct {
		moving int
		deep   bool
	}{"": {0, true}, "TtZX": {0, true}, "TD": {1, true}, "DD": {2, true}, "DR": {2, false}, "RD": {2, false}, "TS": {1, false}} {
		var list []sys.Process
		for _, s := range states {
			list = append(list, sys.Process{State: byte(s)})
		}
		if moving, deep := unsettled(list); len(moving) != want.moving || deep != want.deep {
			t.Errorf("%q: %d, %v", states, len(moving), deep)
		}
	}
}
