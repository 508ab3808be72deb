package attack

import (
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/test/built"
)

// buildBinaries builds ringfence and the probe into a directory that any user can
// read. ATTACK_BIN names a directory that holds both already, for a user who
// cannot build.
func buildBinaries(tempDir func() string) (string, error) {
	if dir := os.Getenv("ATTACK_BIN"); dir != "" {
		return filepath.Abs(dir)
	}
	dir := tempDir()
	if err := built.Ringfence(filepath.Join(dir, "ringfence")); err != nil {
		return "", err
	}
	return dir, built.Program(filepath.Join(dir, "probe"), "./probe")
}
