package verify

import (
	"os"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// The test binary is the executable that answers to probe.Arg.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == probe.Arg {
		os.Exit(probe.Main(os.Args[2:], os.Stdin, os.Stdout))
	}
	if os.Getenv(interruptedEnv) != "" {
		os.Exit(runUntilInterrupted())
	}
	os.Exit(m.Run())
}
