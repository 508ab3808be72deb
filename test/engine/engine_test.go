package engine

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/stage"
	"ringfence.dev/ringfence/test/wait"
	"ringfence.dev/ringfence/test/world"
)

// Where the engine is on the stage.
const (
	own    = "/srv/engine"
	socket = own + "/socket"
	logAt  = own + "/log"
)

func TestMain(m *testing.M) {
	_, stands := os.Stat(socket)
	switch {
	case os.Getuid() == 0:
		stage.Furnish = raiseEngine
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

// raiseEngine starts dockerd and returns when it answers. It may be spoken to by the
// group of the user, as an engine usually may by a group.
func raiseEngine(uid int, group string) error {
	daemon, err := exec.LookPath("dockerd")
	if err != nil {
		return fmt.Errorf("%w: run `make tools`", err)
	}
	if err := os.MkdirAll(own, 0o711); err != nil {
		return err
	}
	settings := own + "/daemon.json"
	if err := os.WriteFile(settings, []byte("{}"), 0o600); err != nil {
		return err
	}
	log, err := os.Create(logAt)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(daemon, "--config-file="+settings, "--host=unix://"+socket, "--group="+strconv.Itoa(uid),
		"--data-root="+own+"/data", "--exec-root="+own+"/exec", "--pidfile="+own+"/pid",
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs",
		"--exec-opt=native.cgroupdriver=cgroupfs", "--cgroup-parent=/"+group, "--oom-score-adjust=0", "--log-level=warn")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + own}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET, Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	if !wait.For(answers) {
		b, _ := os.ReadFile(logAt)
		return fmt.Errorf("the engine does not answer:\n%s", b)
	}
	return nil
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

func answers() bool {
	c, err := net.DialTimeout("unix", socket, time.Second)
	if err == nil {
		c.Close()
	}
	return err == nil
}
