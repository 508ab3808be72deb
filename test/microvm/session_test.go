//go:build amd64

package microvm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/work"
)

// share leaves a test to the other user, where both would do the same: a start takes long here.
func share(t *testing.T, i int) {
	t.Helper()
	if !stage.Mine(i) {
		t.Skip("the other user plays it")
	}
}

// TestVerify: every check is held. Of the walls in the guest its far end is the witness, before
// anything runs that is not ours; that there is no network card, that no share can be written
// and that the kernel is another is seen from the host.
func TestVerify(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	cmd := f.Cmd("verify", "--rung", "microvm", "--json")
	var said strings.Builder
	cmd.Stderr = &said
	out, _ := cmd.Output()
	var r verify.Report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v\n%s%s", err, out, &said)
	}
	work.Pages(t)["microvm"].Compare(t, r)
}

// TestRefuses: without KVM nothing starts, unless software is asked for; and a kernel that is
// not the one that policy demands is none.
func TestRefuses(t *testing.T) {
	f := newFixture(t)
	f.Policy(policy() + "kernel-sha256 = \"" + strings.Repeat("0", 64) + "\"\n")
	r := f.On("true", "--net", "none")
	if r.Status != 125 || !strings.Contains(r.Stderr, "policy demands") {
		t.Errorf("another kernel: status %d\n%s", r.Status, r.Stderr)
	}
	for _, what := range []string{"modules", "qemu"} {
		f.Policy(policy() + what + "-sha256 = \"" + strings.Repeat("0", 64) + "\"\n")
		if r := f.On("true", "--net", "none"); r.Status != 125 || !strings.Contains(r.Stderr, "policy demands") {
			t.Errorf("other %s: status %d\n%s", what, r.Status, r.Stderr)
		}
	}
	f.Policy("[rung]\nkernel = \"/nowhere\"\naccel = \"tcg\"\n")
	if r = f.On("true", "--net", "none"); r.Status != 125 || !strings.Contains(r.Stderr, "the kernel cannot be used") {
		t.Errorf("no kernel: status %d\n%s", r.Status, r.Stderr)
	}
}

// disks lists what is left of the disks of machines.
func disks(t *testing.T, f *work.Fixture) (out []string) {
	t.Helper()
	filepath.WalkDir(f.State, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), "disk-") {
			out = append(out, p)
		}
		return nil
	})
	return out
}
