package agents

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// systemPath is what every user of the machine has.
const systemPath = "/usr/local/bin:/usr/bin:/bin"

// kit is what the tests run: ringfence, the scripted model, the agents.
type kit struct {
	bin    string // ringfence and model
	agents string // node_modules
}

// newKit builds what is ours and finds what is not. AGENTS_BIN names a directory
// that holds ringfence and model already, for a user who cannot build.
func newKit(t *testing.T) *kit {
	k := &kit{bin: os.Getenv("AGENTS_BIN"), agents: findAgents(t)}
	if k.bin == "" {
		k.bin = tempDir(t)
		for name, pkg := range map[string]string{"ringfence": "../../cmd/ringfence", "model": "./model"} {
			cmd := exec.Command("go", "build", "-o", filepath.Join(k.bin, name), pkg)
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("build %s: %v\n%s", name, err, out)
			}
		}
	}
	return k
}

// tempDir makes a directory that all can enter. It is not in /tmp, where some
// agents do not want to find their HOME.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("/var/tmp", "ringfence-agents-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// findAgents returns the node_modules that scripts/tools installed from the lock
// file as it is now: by root for all, or by the user for himself.
func findAgents(t *testing.T) string {
	lock, err := os.ReadFile("npm/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(lock)
	name := fmt.Sprintf("ringfence-test/agents-%x/node_modules", sum[:6])
	places := []string{"/var/cache"}
	if own, err := os.UserCacheDir(); err == nil && os.Getuid() != 0 {
		places = append(places, own)
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
