// Package machine gives a suite what the rung of virtual machines needs: a kernel.
package machine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/internal/sandbox/microvm"
	"ringfence.dev/ringfence/test/built"
	"ringfence.dev/ringfence/test/debian"
	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/stage"
)

// Prepare gets the kernel and asks for a build with tags, if there are any. It is for a TestMain, before anything
// else: from where the tests play nothing can be loaded.
func Prepare(tags string) error {
	stage.Pass = append(stage.Pass, rungs.KernelEnv)
	if os.Getenv(rungs.KernelEnv) != "" { // another process of the suite did
		return nil
	}
	at, err := debian.Installed(microvm.Modules()).Path()
	if err != nil {
		return err
	}
	images, err := filepath.Glob(filepath.Join(at, "boot/vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return fmt.Errorf("%s has the kernels %q: %w", at, images, err)
	}
	if tags != "" {
		err = built.Tagged(tags)
	}
	return errors.Join(err, os.Setenv(rungs.KernelEnv, images[0]))
}

// Policy is what a user writes to have the rung here, with kvm or tcg for a processor.
func Policy(accel string) string {
	return fmt.Sprintf("[rung]\nkernel = %q\naccel = %q\ncpus = 1\nmemory = \"768MiB\"\ndisk = \"256MiB\"\n", os.Getenv(rungs.KernelEnv), accel)
}
