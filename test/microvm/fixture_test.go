//go:build amd64

package microvm

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"ringfence.dev/ringfence/test/machine"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/work"
	"ringfence.dev/ringfence/test/world"
)

func TestMain(m *testing.M) {
	if err := machine.Prepare("ringfence_mutate"); err != nil {
		fmt.Fprintln(os.Stderr, "microvm:", err)
		os.Exit(1)
	}
	world.Main(m, "./attacker")
}

// accel is what makes the processors of the machines: KVM where doctor finds that it boots one.
var (
	accel  = "tcg"
	asking sync.Once
)

func policy() string { return machine.Policy(accel) }

func newFixture(t *testing.T) *work.Fixture {
	t.Helper()
	f := work.New(t, "microvm", machine.Policy("kvm"))
	handOn(f)
	asking.Do(func() {
		if f.Cmd("doctor", "--rung", f.Rung).Run() == nil {
			accel = "kvm"
		}
		t.Logf("the processor: %s", accel)
	})
	f.Policy(policy())
	return f
}

// keptAt is where what a machine boots is handed on from test to test: to make it takes as long as
// to boot it.
const keptAt = stage.Home + "/kept-microvm"

var keeping sync.Mutex

// handOn gives a fixture what another one made, and takes what this one makes for those that
// follow. What is not what was made is made anew: ringfence compares it.
func handOn(f *work.Fixture) {
	own := filepath.Join(f.State, "ringfence/microvm")
	f.T.Cleanup(func() { copyKept(own, keptAt) })
	copyKept(keptAt, own)
}

// copyKept copies files into a directory that is not there yet.
func copyKept(from, to string) {
	keeping.Lock()
	defer keeping.Unlock()
	entries, err := os.ReadDir(from)
	if err != nil || len(entries) == 0 {
		return
	}
	if _, err := os.Stat(to); err == nil {
		return
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return
	}
	for _, e := range entries {
		if b, err := os.ReadFile(filepath.Join(from, e.Name())); err == nil && e.Type().IsRegular() {
			os.WriteFile(filepath.Join(to, e.Name()), b, 0o400)
		}
	}
}
