package agents

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"testing"
)

// systemPath is what every user of the machine has.
const systemPath = "/usr/local/bin:/usr/bin:/bin"

// tempDir makes a directory that is not in /tmp, where some agents do not want to
// find their HOME.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/var/tmp", "agents-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// The stage of an ordinary user may not see where the sources are.
//
//go:embed attacks.toml npm/package.json npm/package-lock.json
var sources embed.FS

// findAgents returns the node_modules that scripts/tools installed from the lock
// file as it is now: by root for all, or by the user for himself.
func findAgents(t *testing.T) string {
	lock, err := sources.ReadFile("npm/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	name := fmt.Sprintf("ringfence-test/agents-%x/node_modules", sum[:6])
	places := []string{"/var/cache"}
	if u, err := user.LookupId(strconv.Itoa(os.Getuid())); err == nil && os.Getuid() != 0 { // HOME is the stage's
		places = append(places, filepath.Join(u.HomeDir, ".cache"))
	}
	for _, place := range places {
		dir := filepath.Join(place, name)
		if _, err := os.Stat(dir); err == nil {
			return dir
		}
	}
	t.Fatalf("no %s in %q: run `make tools`", name, places)
	return ""
}
