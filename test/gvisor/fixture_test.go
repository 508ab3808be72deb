package gvisor

import (
	"fmt"
	"testing"

	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/work"
	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) { world.Main(m) }

// program is the runsc that scripts/tools built.
func program(t *testing.T) string {
	t.Helper()
	at, err := built.Runsc()
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func newFixture(t *testing.T) *work.Fixture {
	t.Helper()
	return work.New(t, "gvisor", fmt.Sprintf("[rung]\nrunsc = %q\n", program(t)))
}

// sandbox lists PID 1 of a session's sandbox and the processes below it.
func sandbox(t *testing.T, supervisor int) []work.Process {
	t.Helper()
	for _, p := range work.Below(t, supervisor) {
		if p.Argv == "ringfence-inside" {
			return append([]work.Process{p}, work.Below(t, p.PID)...)
		}
	}
	t.Fatal("there is no PID 1")
	return nil
}
