// Package dockerd starts a container engine for tests: Debian's Docker, which changes nothing
// about the network. Only root can.
package dockerd

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
	daemon, err := find()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(e.Dir, 0o711); err != nil {
		return nil, err
	}
	settings, logAt := e.Dir+"/daemon.json", e.Dir+"/log"
	if err := os.WriteFile(settings, []byte("{}"), 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(logAt)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(daemon, "--config-file="+settings, "--host=unix://"+Socket(e.Dir), "--group="+strconv.Itoa(e.GID),
		"--data-root="+e.Dir+"/data", "--exec-root="+e.Dir+"/exec", "--pidfile="+PIDFile(e.Dir),
		"--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--storage-driver=vfs",
		"--exec-opt=native.cgroupdriver=cgroupfs", "--cgroup-parent=/"+e.Group, "--oom-score-adjust=0", "--log-level=warn")
	cmd.Env = []string{"PATH=" + path, "HOME=" + e.Dir}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !e.Plain {
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
	return cmd.Process, nil
}

// path is where an engine and what it needs may be.
const path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func find() (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if at := filepath.Join(dir, "dockerd"); unix.Access(at, unix.X_OK) == nil {
			return at, nil
		}
	}
	return "", errors.New("there is no dockerd: run `make tools`")
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
