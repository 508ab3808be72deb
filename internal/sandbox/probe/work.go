package probe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// workspace wants the workspace, all of it, and nothing beside it. The witness
// outside looks for what was written.
func workspace(t *Target) Result {
	const name = "workspace"
	if r, gone := absent(name, string(t.Sibling)); !gone {
		return r
	}
	beside, err := os.ReadDir(filepath.Dir(string(t.Workspace)))
	if err != nil {
		return open(name, "%v", err)
	}
	if len(beside) != 1 {
		return open(name, "%d entries where only the workspace should be", len(beside))
	}
	if err := os.WriteFile(filepath.Join(string(t.Workspace), t.Proof), []byte(t.Canary), 0o600); err != nil {
		return open(name, "work is not possible: %v", err)
	}
	return closed(name, "written, and nothing else is there")
}

// Unasked is a file that tools of the host run when they see it, and Secrets one that
// holds what an agent need not know.
const (
	Unasked = ".envrc"
	Secrets = ".env"
)

// held makes what the host would run unasked. It must work inside, and be on another
// file system than the workspace: in the private layer. The witness outside looks
// for the name, so it stays.
func held(t *Target) Result {
	const name = "held"
	p := filepath.Join(string(t.Workspace), Unasked)
	err := os.WriteFile(p, []byte("true\n"), 0o600)
	if errors.Is(err, unix.EROFS) {
		return closed(name, "refused: there is no layer to hold it")
	}
	if err != nil {
		return open(name, "work is not possible: %v", err)
	}
	var file, dir unix.Stat_t
	if err := errors.Join(unix.Stat(p, &file), unix.Stat(string(t.Workspace), &dir)); err != nil {
		return open(name, "%v", err)
	}
	if t.Review {
		return closed(name, "written, and it waits with every other change")
	}
	if file.Dev == dir.Dev {
		return open(name, "it is on the file system of the workspace")
	}
	return closed(name, "written, in a layer of its own")
}

// masked reads a file of secrets.
func masked(t *Target) Result {
	const name = "masked"
	b, err := os.ReadFile(filepath.Join(string(t.Workspace), Secrets))
	if err != nil {
		return open(name, "programs could not start: %v", err)
	}
	if t.carries(b) {
		return open(name, "the secret is there")
	}
	return closed(name, "%d bytes, without the secret", len(b))
}

// work wants what an agent cannot do without. Walls that make people switch them
// off protect nobody. It begins with what the host has taken: a port of loopback
// and names in temporary directories are free only in a place of our own, so
// outside it ends there.
func work(t *Target) Result {
	const name = "work"
	for _, step := range []struct {
		what string
		do   func(*Target) error
	}{
		{"own loopback", ownLoopback}, {"temporary files", temporaryFiles}, {"home", homeFile},
		{"list of interfaces", routes}, {"own terminal", terminal}, {"own child under a debugger", debug},
	} {
		if err := step.do(t); err != nil {
			return open(name, "%s: %v", step.what, err)
		}
	}
	return closed(name, "loopback, files, terminal, debugger: all work")
}

func ownLoopback(t *Target) error {
	for _, a := range t.TCP {
		l, err := net.Listen("tcp", a)
		if err != nil {
			return err
		}
		defer l.Close()
		c, err := net.DialTimeout("tcp", a, patience)
		if err != nil {
			return err
		}
		c.Close()
	}
	return nil
}

func temporaryFiles(t *Target) error {
	for _, p := range t.PrivateTmp {
		if err := os.MkdirAll(filepath.Dir(string(p)), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(string(p), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

func homeFile(*Target) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(home, ".ringfence-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// routes is what getifaddrs needs, and with it every dev server.
func routes(*Target) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

func terminal(*Target) error {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// debug starts a child that stops before its first instruction, and lets it go.
func debug(*Target) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command(self, Arg, nothingArg)
	cmd.SysProcAttr = &syscall.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	var ws syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &ws, 0, nil); err != nil {
		return fmt.Errorf("wait for the stop: %w", err)
	}
	if !ws.Stopped() {
		return fmt.Errorf("the child did not stop: %#x", uint32(ws))
	}
	if err := unix.PtraceDetach(cmd.Process.Pid); err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	return cmd.Wait()
}
