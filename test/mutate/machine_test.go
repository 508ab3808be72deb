//go:build amd64

package mutate

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/microvm"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/verify"
	"ringfence.dev/ringfence/test/debian"
	"ringfence.dev/ringfence/test/tier"
)

// TestMachineMutations: a machine without one of the walls around it is refused, and nothing boots
// in it. The emulator is looked at as soon as it runs, so that each of these costs a second.
func TestMachineMutations(t *testing.T) {
	for _, w := range plan.AllWalls() {
		if _, ok := aroundMachine["jail-"+string(w)]; ok == (w == plan.WallTTY) { // an emulator has no terminal
			t.Errorf("the wall %s of the jail", w)
		}
	}
	at, err := debian.Installed(microvm.Modules()).Path()
	if err != nil {
		t.Fatal(err)
	}
	images, err := filepath.Glob(filepath.Join(at, "boot/vmlinuz-*"))
	if err != nil || len(images) != 1 {
		t.Fatalf("%s has the kernels %q: %v", at, images, err)
	}
	bin := build(t, "ringfence_mutate")
	all := users(t, "")
	for n, u := range all {
		u.has(t, fmt.Sprintf("kernel = %q\naccel = \"tcg\"\nmemory = \"512MiB\"\ndisk = \"256MiB\"\n", images[0]))
		for i, what := range slices.Sorted(maps.Keys(aroundMachine)) {
			if len(all) == 2 && i%2 != n && !tier.All() {
				continue // the other user's
			}
			t.Run(u.name+"/"+what, func(t *testing.T) {
				why := aroundMachine[what]
				if what == "jail-user" && u.uid == 0 {
					why = "wall user is missing"
				}
				before := hostState(t)
				r, said := u.verify(t, bin, "microvm", what)
				if after := hostState(t); after != before {
					t.Errorf("the host was %q and is %q", before, after)
				}
				nothing := r.Count(verify.Missing)+r.Count(verify.NotApplied) == len(r.Rows)
				if !nothing || !strings.Contains(said, "ringfence: error: ") || !strings.Contains(said, why) {
					t.Errorf("not refused, or not for that: %s; %d are held", said, r.Count(verify.Held))
				}
			})
		}
	}
}

// has adds to the user's policy for a rung.
func (u user) has(t *testing.T, lines string) {
	t.Helper()
	at := filepath.Join(u.home, ".config", "ringfence", "policy.toml")
	text, err := os.ReadFile(at)
	if err == nil {
		err = os.WriteFile(at, append(slices.Clone(text), lines...), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.WriteFile(at, text, 0o600) })
}
