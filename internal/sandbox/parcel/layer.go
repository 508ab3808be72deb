package parcel

import (
	"fmt"
	"io/fs"
	"path/filepath"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// checkLayer refuses a layer that begins with something which an operation covers: the far
// end gets the whole of a layer, so what is hidden must not be in it. Phantoms are there
// in place of the operation that would have put them over a file.
func checkLayer(o *plan.Op, covers map[string]bool) error {
	if o.Do != plan.DoLayer || o.Upper == "" {
		return nil
	}
	upper, below := string(o.Upper), ""
	return filepath.WalkDir(upper, func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == upper {
			return err
		}
		rel := p[len(upper)+1:]
		if below == "" || !file.Within(rel, below) {
			if below = ""; covers[string(o.Dst)+"/"+rel] {
				below = rel
			}
		}
		if below != "" && !e.IsDir() {
			return fmt.Errorf("%q is covered, and lies in the layer: it would be sent", rel)
		}
		return nil
	})
}
