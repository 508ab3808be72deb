// Package npm knows which agents the tests are for: those of the lock file beside it.
package npm

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
)

//go:embed package-lock.json
var lock []byte

// Modules returns the node_modules that scripts/tools installed from the lock file as
// it is now: by root for all, or by the user for himself.
func Modules() (string, error) {
	sum := sha256.Sum256(lock)
	name := fmt.Sprintf("ringfence-test/agents-%x/node_modules", sum[:6])
	places := []string{"/var/cache"}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && os.Getuid() != 0 { // HOME is the stage's
		places = append(places, filepath.Join(u.HomeDir, ".cache"))
	}
	for _, place := range places {
		dir := filepath.Join(place, name)
		if _, err := os.Stat(dir); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no %s in %q: run `make tools`", name, places)
}
