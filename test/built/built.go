// Package built gives the suites the binary under test. make builds it once and names it
// in STAGE_BIN, which is read here alone; without that, each suite builds its own.
package built

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

const env = "STAGE_BIN"

// RungEnv is the rung that the suites play on; OverLoop: over a link to a far end on this
// machine, which only a test build has. What starts a test again hands it on.
const RungEnv = "RINGFENCE_TEST_RUNG"

// The two of that kind. SharedLoop is for scripts that speak with their test by files of the
// workspace: what is written there comes to the host at once, as it does over no link.
const (
	OverLoop   = "loop"
	SharedLoop = "loop-shared"
)

// Loop says whether they do.
func Loop() bool { return os.Getenv(RungEnv) == OverLoop || os.Getenv(RungEnv) == SharedLoop }

const ringfence = "ringfence.dev/ringfence/cmd/ringfence"

// Set is the variable by which a suite tells the processes that it starts where the
// binary is.
func Set(path string) string { return env + "=" + path }

// Tagged asks for a binary with build tags instead of the one that was built before. It is for
// the first process of a suite: those that it starts are given what it built.
func Tagged(with string) error {
	tags = with
	return os.Unsetenv(env)
}

var tags string

// Given is the binary that was built before, "" if there is none.
func Given() string { return os.Getenv(env) }

// Ringfence puts the binary at a path where every user can run it.
func Ringfence(to string) error {
	given := Given()
	switch {
	case os.Getenv(RungEnv) == OverLoop:
		return Program(to, ringfence, "-tags", "ringfence_loop")
	case os.Getenv(RungEnv) == SharedLoop:
		return Program(to, ringfence, "-tags", "ringfence_loop,ringfence_shared")
	case given == "":
		return Program(to, ringfence, "-ldflags=-s -w", "-tags", tags)
	}
	data, err := os.ReadFile(given)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o755)
}

// Program builds a package without cgo.
func Program(to, pkg string, flags ...string) error {
	cmd := exec.Command("go", append(append([]string{"build", "-buildvcs=false", "-o", to}, flags...), pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// GoBin is where the tools of Go are: those that build the suite.
func GoBin() string {
	//lint:ignore SA1019 a suite runs where it was built
	return filepath.Join(runtime.GOROOT(), "bin")
}
