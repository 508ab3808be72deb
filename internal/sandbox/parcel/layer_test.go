package parcel

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// A layer is sent whole: one that has what an operation covers is not sent at all.
func TestLayerWithCovered(t *testing.T) {
	for _, name := range []string{"masked", "maskdir/in", "filed", "mounted/deep/in"} {
		p, _ := planned(t)
		put(t, filepath.Join(string(p.Ops[1].Upper), name), "SECRET-10", 0o600)
		if _, err := Pack(context.Background(), p, key); err == nil || !strings.Contains(err.Error(), "is covered, and lies in the layer") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Of what changed after it was listed no byte leaves, small or large, in its place or with
// its whole directory.
func TestNothingOfAChangeLeaves(t *testing.T) {
	for _, size := range []int{40, inMemory + 40} {
		for _, whole := range []bool{false, true} {
			dir := filepath.Join(t.TempDir(), "w")
			put(t, filepath.Join(dir, "conf"), strings.Repeat("x", size), 0o600)
			p := &plan.Plan{Ops: []plan.Op{{Do: plan.DoLayer, Dst: "/w", Src: plan.Raw(dir), Upper: plan.Raw(t.TempDir())}}}
			box, err := Pack(context.Background(), p, key)
			if err != nil {
				t.Fatal(err)
			}
			if whole {
				if err := os.Rename(dir, dir+".old"); err != nil {
					t.Fatal(err)
				}
			}
			put(t, filepath.Join(dir, "conf"), strings.Repeat("S", size), 0o600)
			var left bytes.Buffer
			if _, err := box.Send(&left, []byte{1}); err == nil || left.Len() > 0 {
				t.Errorf("%d bytes, directory %v: %d left, %v", size, whole, left.Len(), err)
			}
		}
	}
}
