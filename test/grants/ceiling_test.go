package grants

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/test/grants/hand"
	"ringfence.dev/ringfence/test/grants/order"
	"ringfence.dev/ringfence/test/world"
)

// administrator makes a host whose administrator wrote a policy: a mount namespace
// with an /etc of its own, which is a copy. It returns the command that runs others
// there.
func administrator(t *testing.T, w *world.World, policy string) []string {
	t.Helper()
	etc := t.TempDir()
	const script = `set -e
mount -t tmpfs etc "$1"
cp -a /etc/. "$1" 2>/dev/null || true
mkdir -p "$1/ringfence"
printf '%s' "$2" > "$1/ringfence/policy.toml"
mount --bind "$1" /etc
shift 2
exec "$@"`
	unshare, enter := []string{"--mount"}, []string{"nsenter", "--mount"}
	stay := []string{"sh", "-c", "echo ready; exec sleep 600"}
	if os.Getuid() != 0 {
		// Who mounts must be called root; who launches is the user again.
		unshare = append(unshare, "--map-root-user")
		stay = append([]string{"unshare", "--mount", fmt.Sprintf("--map-user=%d", os.Getuid()), fmt.Sprintf("--map-group=%d", os.Getgid())}, stay...)
		enter = append(enter, "--user", "--preserve-credentials")
	}
	cmd := exec.Command("unshare", append(append(unshare, "sh", "-c", script, "sh", etc, policy), stay...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("no %s could be placed: %q, %v", launch.Ceiling, line, err)
	}
	return append(enter, "--target", fmt.Sprint(cmd.Process.Pid), "--wdns="+w.Dir)
}

// TestCeiling: nobody grants what the administrator does not allow.
func TestCeiling(t *testing.T) {
	w := world.New(t)
	within := administrator(t, w, "[network]\nallow = [\"allowed.test\", \"*.example.com:443\"]\ndeny = [\"denied.allowed.test\"]\npublish = [4000]\n")
	s := hand.Launch{Within: within}.Start(t, w)
	for _, host := range []string{world.Other, world.Allowed + ":9", "*." + world.Allowed, "x." + world.Allowed, "tcp://" + world.Allowed + ":443", public, public + ":80", "*.example.com"} {
		for _, how := range [][]string{{}, {"--always", "--yes"}, {"--project", "--yes"}, {"--for", "1m"}} {
			if r := s.Grant(append([]string{"--host", host}, how...)...); r.Status == 0 || !strings.Contains(r.Stderr, "/etc/ringfence/policy.toml does not allow") {
				t.Errorf("grant %s %q: %+v", host, how, r)
			}
		}
	}
	if r := s.Publish("3000"); r.Status == 0 || !strings.Contains(r.Stderr, "/etc/ringfence/policy.toml does not allow 3000") {
		t.Errorf("publish: %+v", r)
	}
	if r := s.Publish("4000"); r.Status != 0 {
		t.Errorf("publish what the ceiling names: %+v", r)
	}
	if files := kept(t, w); len(files) > 0 || len(s.Status().Grants) > 0 {
		t.Errorf("kept %q, granted %+v", files, s.Status().Grants)
	}
	if a := s.Do(order.Order{Do: "get", At: otherWeb}); a.Error == "" {
		t.Errorf("%+v", a)
	}
	for _, host := range []string{world.Allowed, "https://" + world.Allowed, public + ":443", "*.example.com:443"} {
		if r := s.Grant("--host", host); r.Status != 0 {
			t.Errorf("grant %s, which the ceiling allows: %+v", host, r)
		}
	}
	if a := s.Do(order.Order{Do: "get", At: "https://" + world.Allowed + "/"}); a.Status != 200 {
		t.Errorf("%+v", a)
	}
	s.Stop()
	hand.Config(t, w, "grants.toml", "[network]\nallow = [\"other.test\", \"allowed.test\"]\n")
	s = hand.Launch{Within: within}.Start(t, w)
	if a := s.Do(order.Order{Do: "get", At: otherWeb}); a.Error == "" {
		t.Errorf("a kept rule goes above the ceiling: %+v", a)
	}
	if a := s.Do(order.Order{Do: "get", At: "http://" + world.Allowed + "/"}); a.Status != 200 {
		t.Errorf("a kept rule that the ceiling allows: %+v", a)
	}
}
