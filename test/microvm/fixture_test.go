//go:build amd64

package microvm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	place "ringfence.dev/ringfence/internal/sandbox/microvm"
	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/debian"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/tier"
	"ringfence.dev/ringfence/test/work"
	"ringfence.dev/ringfence/test/world"
)

// kernelEnv tells those in the world, from where nothing can be loaded, where the kernel is.
const kernelEnv = "MICROVM_KERNEL"

func TestMain(m *testing.M) {
	stage.Pass = []string{kernelEnv}
	if os.Getenv(kernelEnv) == "" {
		if err := prepare(); err != nil {
			fmt.Fprintln(os.Stderr, "microvm:", err)
			os.Exit(1)
		}
	}
	world.Main(m, "./attacker")
}

// prepare gets the kernel, and asks for the ringfence that has the rung and lets a test be root
// of the guest.
func prepare() error {
	at, err := debian.Installed(place.Modules()).Path()
	if err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(at, "boot/vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return fmt.Errorf("%s has the kernels %q: %w", at, images, err)
	}
	return errors.Join(os.Setenv(kernelEnv, images[0]), built.Tagged("ringfence_mutate"))
}

// policy is what a user writes to have the rung here.
func policy() string {
	return fmt.Sprintf("[rung]\nkernel = %q\naccel = \"tcg\"\nmemory = \"768MiB\"\ndisk = \"256MiB\"\n", os.Getenv(kernelEnv))
}

func newFixture(t *testing.T) *work.Fixture {
	t.Helper()
	return work.New(t, "microvm", policy())
}

// long leaves a test to `make test-all`: software makes the processor of the machine, and no
// shipped binary has the rung yet.
func long(t *testing.T) {
	t.Helper()
	if !tier.All() {
		t.Skip("minutes of emulation: make test-all plays it")
	}
}
