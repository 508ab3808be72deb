package built

import (
	"fmt"
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/internal/sandbox/gvisor"
)

// Runsc is the runsc that scripts/tools built.
func Runsc() (string, error) {
	dirs := []string{"/var/cache"}
	if own, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, own)
	}
	for _, dir := range dirs {
		at := filepath.Join(dir, "ringfence-test", "runsc-"+gvisor.Tested, "runsc")
		if _, err := os.Stat(at); err == nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("runsc %s is not there: run scripts/tools", gvisor.Tested)
}
