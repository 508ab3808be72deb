package engine

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/world"
)

// Where the engine is on the stage.
const (
	own    = stage.Engine
	socket = own + "/socket"
)

func TestMain(m *testing.M) {
	_, stands := os.Stat(socket)
	switch {
	case os.Getuid() == 0:
		stage.WantEngine = true
	case stands == nil: // root raised it for us
	case os.Getenv("CI") == "true":
		fmt.Println("in CI this suite must run as root: only root can start a container engine")
		os.Exit(1)
	default:
		fmt.Println("not shown here: only root can start a container engine")
		os.Exit(0)
	}
	world.Main(m)
}

// docker asks the engine by its own client, which reads no settings of the machine's.
func docker(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("docker", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DOCKER_HOST=unix://" + socket}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("docker %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// containers lists those that there are, running or not.
func containers(t *testing.T) []string {
	t.Helper()
	return strings.Fields(docker(t, "ps", "--all", "--quiet", "--no-trunc"))
}
