package review

import (
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/state"
)

// decide notes that something is applied or discarded while more of the session may be on
// another machine: what comes from there has all of it once more.
func (w *Work) decide() error {
	if !w.Elsewhere() {
		return nil
	}
	return file.Replace(filepath.Join(w.dir, state.Decided), nil, 0o600)
}

// Decided says whether that was noted since it was last asked.
func (w *Work) Decided() bool { return os.Remove(filepath.Join(w.dir, state.Decided)) == nil }
