package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/world"
)

// fixture is a world whose sessions run in containers.
type fixture struct {
	*world.World
	t *testing.T
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{world.New(t), t}
	dir := filepath.Join(f.State, "config", "ringfence")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.toml"), fmt.Appendf(nil, "[rung]\nuse = \"container\"\nengine = %q\n", socket), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// TestWork: status, user, files that wait for review, what is hidden.
func TestWork(t *testing.T) {
	f := newFixture(t)
	r := f.Run("--review", "--net", "none", "--", "sh", "-c", `id -u; echo new > made; touch /usr/x /x /etc/x 2>/dev/null && echo written; exit 7`)
	if r.Status != 7 || r.Stdout != fmt.Sprintln(os.Getuid()) {
		t.Errorf("status %d\n%s\n%s", r.Status, r.Stdout, r.Stderr)
	}
	if _, err := os.Stat(filepath.Join(f.Dir, "made")); err == nil {
		t.Error("a file reached the host before it was applied")
	}
	if !strings.Contains(r.Stderr, "made") {
		t.Errorf("the review does not list the file:\n%s", r.Stderr)
	}
}

func TestVerify(t *testing.T) {
	f := newFixture(t)
	ctx := t.Context()
	out, err := f.Command(ctx, "verify", "--rung", "container").CombinedOutput()
	t.Logf("%v\n%s", err, out)
}

func TestLive(t *testing.T) {
	f := newFixture(t)
	r := f.Run("--net", "none", "--", "sh", "-c", `echo new > made; cat /proc/self/mounts | grep -c overlay; mount | head -40`)
	b, err := os.ReadFile(filepath.Join(f.Dir, "made"))
	t.Logf("%d\n%s\n%s\n%q %v", r.Status, r.Stdout, r.Stderr, b, err)
}

func TestNet(t *testing.T) {
	f := newFixture(t)
	r := f.Run("--allow", "allowed.test", "--", "sh", "-c", `curl -sS --cacert ca.pem https://allowed.test/ && echo reached
		curl -fsS -m 10 http://other.test/ && echo open`)
	t.Logf("%d\n%s\n%s", r.Status, r.Stdout, r.Stderr)
}
