package scan

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/loads"
)

// TestLoads: no file of a folder of canaries stands inside with one of them, before it
// is trusted. A script that is started by another file only is left as it is.
func TestLoads(t *testing.T) {
	all, err := loads.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		root := plant(t, nil)
		folder := a.Folder(root)
		if err := a.Plant(root); err != nil {
			t.Fatal(err)
		}
		r := look(t, root)
		for rel, text := range folder {
			i := slices.IndexFunc(r.Files, func(f File) bool { return f.Path == rel })
			switch {
			case !strings.Contains(text, "ran-"):
			case i < 0:
				if !slices.ContainsFunc(r.Files, func(f File) bool { return slices.Contains(f.With, rel) || f.WithAll }) {
					t.Errorf("%s: %q is neither found nor trusted with another file", a.Name, rel)
				}
			case !r.Files[i].Mended || bytes.Contains(r.Files[i].Neutral, []byte("ran-")):
				t.Errorf("%s: %q stands inside as %q", a.Name, rel, r.Files[i].Neutral)
			}
		}
	}
}
