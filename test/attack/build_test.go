package attack

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// buildBinaries builds ringfence and the probe into a directory that any user can
// read. ATTACK_BIN names a directory that holds both already, for a user who
// cannot build; STAGE_BIN a ringfence.
func buildBinaries(tempDir func() string) (string, error) {
	if dir := os.Getenv("ATTACK_BIN"); dir != "" {
		return filepath.Abs(dir)
	}
	dir := tempDir()
	for name, pkg := range map[string]string{"ringfence": "../../cmd/ringfence", "probe": "./probe"} {
		if given := os.Getenv("STAGE_BIN"); given != "" && name == "ringfence" {
			data, err := os.ReadFile(given)
			if err != nil {
				return "", err
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o755); err != nil {
				return "", err
			}
			continue
		}
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", filepath.Join(dir, name), pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("build %s: %w\n%s", name, err, out)
		}
	}
	return dir, nil
}
