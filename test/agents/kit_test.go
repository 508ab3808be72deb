package agents

import (
	"embed"
	"os"
	"testing"

	"ringfence.dev/ringfence/test/agents/npm"
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

// findAgents returns the node_modules with the agents of the lock file.
func findAgents(t *testing.T) string {
	dir, err := npm.Modules()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}
