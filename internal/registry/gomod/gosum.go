package gomod

import (
	"bytes"
	"strings"

	"ringfence.dev/ringfence/internal/registry/store"
)

// findSum finds a digest in a go.sum, or in what the sum database answers. Two different
// ones for the same are none.
func findSum(text []byte, q request) (found store.Digest, ok bool) {
	version, kind := q.version, store.Zip
	if q.what == "mod" {
		version, kind = version+"/go.mod", store.Mod
	}
	for line := range bytes.Lines(text) {
		f := strings.Fields(string(line))
		if len(f) != 3 || f[0] != q.module || f[1] != version {
			continue
		}
		d, err := store.H1(kind, f[2])
		if err != nil || ok && d != found {
			return store.Digest{}, false
		}
		found, ok = d, true
	}
	return found, ok
}
