package container

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// stage turns this process, the first of its PID namespace, into the engine.
func stage() int {
	if err := becomeEngine(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "stage:", err)
	}
	return 1
}

// becomeEngine hides what of the machine an engine would look at or leave behind,
// then starts it. It returns only on failure.
func becomeEngine(daemon, socket, group string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	if err := unix.Mount("engine", "/run", "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("mount /run: %w", err)
	}
	if err := os.Mkdir(own, 0o711); err != nil {
		return err
	}
	settings := own + "/daemon.json"
	if err := os.WriteFile(settings, []byte("{}"), 0o600); err != nil {
		return err
	}
	if out, err := exec.Command("ip", "link", "set", "lo", "up").CombinedOutput(); err != nil {
		return fmt.Errorf("loopback: %w: %s", err, out)
	}
	return syscall.Exec(daemon, []string{daemon, "--config-file=" + settings, "--host=unix://" + socket,
		"--data-root=" + own + "/data", "--exec-root=" + own + "/exec", "--pidfile=" + own + "/pid",
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--storage-driver=vfs",
		"--exec-opt=native.cgroupdriver=cgroupfs", "--cgroup-parent=" + group, "--oom-score-adjust=0", "--log-level=warn"}, os.Environ())
}
