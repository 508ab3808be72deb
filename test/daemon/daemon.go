// Package daemon starts a container engine for tests: Debian's Docker, or its Podman where a
// variable asks for it. Neither changes anything about the network. Only root can start them.
package daemon

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/test/wait"
)

// Engine is one that is to be.
type Engine struct {
	Dir   string // where all of it is
	GID   int    // of those who may speak to it beside root
	Group string // the cgroup below which its containers are, from the root of the tree
	Plain bool   // it has the network of its host: it makes none of its own
	Apart bool   // it has mounts of its own, so that those of its host stay as they are
}

// Socket is where it listens, in a directory of this name.
func Socket(dir string) string { return dir + "/socket" }

// PIDFile is where its number is.
func PIDFile(dir string) string { return dir + "/pid" }

// Raise starts the engine and returns when it answers.
func (e Engine) Raise() (*os.Process, error) {
	if err := os.MkdirAll(e.Dir, 0o711); err != nil {
		return nil, err
	}
	argv, err := e.docker()
	if Podman() {
		argv, err = e.podman()
	}
	if err != nil {
		return nil, err
	}
	logAt := e.Dir + "/log"
	log, err := os.Create(logAt)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = []string{"PATH=" + path, "HOME=" + e.Dir}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if e.Plain { // no stage ends it with the test
		cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	} else {
		cmd.SysProcAttr.Cloneflags = unix.CLONE_NEWNET
	}
	if e.Apart {
		cmd.SysProcAttr.Unshareflags = unix.CLONE_NEWNS
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if !wait.For(func() bool { return answers(e.Dir) }) {
		b, _ := os.ReadFile(logAt)
		return nil, errors.Join(fmt.Errorf("the engine does not answer:\n%s", b), cmd.Process.Kill())
	}
	return cmd.Process, e.admit(cmd.Process.Pid)
}

// Env asks for Podman.
const Env = "RINGFENCE_TEST_ENGINE"

// Podman says whether it is Podman.
func Podman() bool { return os.Getenv(Env) == "podman" }

func (e Engine) docker() ([]string, error) {
	at, err := find("dockerd")
	if err != nil {
		return nil, err
	}
	settings := e.Dir + "/daemon.json"
	return []string{at, "--config-file=" + settings, "--host=unix://" + Socket(e.Dir), "--group=" + strconv.Itoa(e.GID),
		"--data-root=" + e.Dir + "/data", "--exec-root=" + e.Dir + "/exec", "--pidfile=" + PIDFile(e.Dir),
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--storage-driver=vfs",
		"--exec-opt=native.cgroupdriver=cgroupfs", "--cgroup-parent=/" + e.Group, "--oom-score-adjust=0", "--log-level=warn"}, os.WriteFile(settings, []byte("{}"), 0o600)
}

// podman has no setting for the cgroup of its containers: it is podmanGroup.
func (e Engine) podman() ([]string, error) {
	at, err := find("podman")
	return []string{at, "--root=" + e.Dir + "/data", "--runroot=" + e.Dir + "/exec", "--tmpdir=" + e.Dir + "/tmp", "--volumepath=" + e.Dir + "/volumes",
		"--network-config-dir=" + e.Dir + "/networks", "--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--events-backend=file", "--log-level=warn", "system", "service", "--time=0", "unix://" + Socket(e.Dir)}, err
}

// admit gives the socket to the group, and tells the engine's number, as Docker does itself.
func (e Engine) admit(pid int) error {
	if !Podman() {
		return nil
	}
	return errors.Join(os.Chown(Socket(e.Dir), 0, e.GID), os.Chmod(Socket(e.Dir), 0o660), os.WriteFile(PIDFile(e.Dir), []byte(strconv.Itoa(pid)), 0o644))
}

// path is where an engine and what it needs may be.
const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func find(name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if at := filepath.Join(dir, name); unix.Access(at, unix.X_OK) == nil {
			return at, nil
		}
	}
	return "", fmt.Errorf("there is no %s: run `make tools`", name)
}

func answers(dir string) bool {
	c, err := net.DialTimeout("unix", Socket(dir), time.Second)
	if err == nil {
		c.Close()
	}
	return err == nil
}

const cgroups = "/sys/fs/cgroup"

// RemoveGroup removes what an engine made for its containers, also one that was killed
// and could not remove the last of them itself.
func RemoveGroup(name string) error {
	if Podman() {
		remove(podmanGroup) // what another one of the machine uses stays
	}
	return remove(name)
}

const podmanGroup = "libpod_parent"

func remove(name string) error {
	var errs []error
	for _, pattern := range []string{cgroups + "/", cgroups + "/*/"} {
		tops, _ := filepath.Glob(pattern + name)
		for _, top := range tops {
			dirs := []string{top}
			entries, _ := os.ReadDir(top)
			for _, e := range entries {
				if e.IsDir() {
					dirs = append(dirs, filepath.Join(top, e.Name()))
				}
			}
			slices.Reverse(dirs)
			for _, dir := range dirs {
				if err := os.Remove(dir); err != nil && !errors.Is(err, os.ErrNotExist) {
					errs = append(errs, err)
				}
			}
		}
	}
	return errors.Join(errs...)
}
