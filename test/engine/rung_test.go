package engine

import (
	"fmt"
	"testing"

	"ringfence.dev/ringfence/test/rungs"
)

func newFixture(t *testing.T) *rungs.Fixture {
	t.Helper()
	return rungs.New(t, "container", fmt.Sprintf("[rung]\nengine = %q\n", socket))
}

func TestWork(t *testing.T) { rungs.Work(t, newFixture) }
