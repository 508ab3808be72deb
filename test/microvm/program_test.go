//go:build amd64

package microvm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/rungs"
	"ringfence.dev/ringfence/test/work"
)

// journalled wants the journal to tell what ran below the agent: the kernel, its modules, and the
// emulator with its version.
func journalled(t *testing.T, f *work.Fixture) {
	t.Helper()
	kernel := os.Getenv(rungs.KernelEnv)
	release := strings.TrimPrefix(filepath.Base(kernel), "vmlinuz-")
	told := map[string]bool{}
	for _, r := range f.Journal() {
		if r.Event != journal.Below || !strings.HasPrefix(r.Digest, "sha256:") || r.Reason != "" {
			continue
		}
		for _, at := range r.List.All() {
			told[filepath.Base(at)] = filepath.Base(at) != "qemu-system-x86_64" || r.Version != ""
		}
	}
	for _, name := range []string{filepath.Base(kernel), release, "qemu-system-x86_64"} {
		if !told[name] {
			t.Errorf("%s is not in the journal: %v", name, told)
		}
	}
}
