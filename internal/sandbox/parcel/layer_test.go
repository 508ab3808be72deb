package parcel

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
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
