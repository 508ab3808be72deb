package sentry

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// StageName is argv[0] of the stage.
const StageName = "ringfence-stage"

// The descriptors of the stage, behind the three of the agent.
const (
	stageControl = iota + 3
	stageSocket  // goes to the sentry
	stageProgram // runsc
	stageProc    // procfs, not attached
)

// stageCaps are what runsc needs to put the sentry and its file server into roots of their
// own. All of them end at the stage's user namespace; the sentry and the file server keep
// only those that are about files.
var stageCaps = []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_DAC_READ_SEARCH, unix.CAP_FOWNER, unix.CAP_FSETID,
	unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_SETPCAP, unix.CAP_SYS_CHROOT, unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN}

// vethCaps are what runsc needs to take an interface over: of the namespace that holds
// nothing but that.
var vethCaps = []uintptr{unix.CAP_NET_ADMIN, unix.CAP_NET_RAW}

// needs are the capabilities of the stage.
func needs(p *plan.Plan) []uintptr {
	if veth(p) == nil {
		return stageCaps
	}
	return append(slices.Clone(stageCaps), vethCaps...)
}

// stageID is the number of the stage's user and group. It is not root's: as root, runsc
// would want to make the sentry a user that does not exist.
const stageID = 1

// StageMain runs the stage and does not return.
func StageMain() {
	runtime.LockOSThread()
	conn := wire.Inherited(stageControl)
	pid, err := stage(conn)
	if err != nil {
		report(conn, "stage", err)
		os.Exit(1)
	}
	conn.Send(wire.Message{Kind: wire.Started, ID: pid})
	os.Exit(0)
}

func report(conn *wire.Conn, step string, err error) {
	f := &wire.Failure{Step: step, Text: err.Error()}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	conn.Send(wire.Message{Kind: wire.Failed, Failure: f})
}

func stage(conn *wire.Conn) (pid int, err error) {
	unix.CloseOnExec(stageProgram)
	unix.CloseOnExec(stageProc)
	b, err := conn.ReceivePlan()
	if err != nil {
		return 0, err
	}
	p, err := plan.Decode(b)
	if err != nil {
		return 0, err
	}
	self, err := unix.Open("/proc/self/exe", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("open our own program: %w", err)
	}
	if err := settle(veth(p)); err != nil {
		return 0, err
	}
	if err := bound(p); err != nil {
		return 0, err
	}
	if err := enterBundle(p); err != nil {
		return 0, err
	}
	return runsc(self, network(p))
}

// bound takes every other capability out of reach of runsc.
func bound(p *plan.Plan) error {
	need := needs(p)
	for c := uintptr(0); c <= 63; c++ {
		if slices.Contains(need, c) {
			continue
		}
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("drop capability %d from the bounding set: %w", c, err)
		}
	}
	return nil
}

// enterBundle makes a root of which runsc needs every name, with a copy of the view in it,
// and enters it. The copy was made with the mount namespace, which belongs to a lesser
// user namespace: what is read-only in it is locked.
func enterBundle(p *plan.Plan) error {
	conf, err := config(p)
	if err != nil {
		return err
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Propagation: unix.MS_PRIVATE}); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	view, err := sys.OpenSource("/")
	if err != nil {
		return err
	}
	tree, err := sys.CloneTree(view)
	if err != nil {
		return fmt.Errorf("copy of the view: %w", err)
	}
	m, err := sys.NewMount("tmpfs", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV, sys.Option{Key: "mode", Value: "0700"}, sys.Option{Key: "size", Value: "16m"})
	if err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	dev, err := sys.OpenSource("/dev")
	if err != nil {
		return err
	}
	if dev, err = sys.CloneTree(dev); err != nil {
		return err
	}
	if err := sys.Attach(m, view); err != nil {
		return fmt.Errorf("bundle: %w", err)
	}
	if err := unix.Fchdir(m); err != nil {
		return err
	}
	for name, mount := range map[string]int{"rootfs": tree, "proc": stageProc, "dev": dev, "state": -1, "tmp": -1} {
		if err := place(m, name, mount); err != nil {
			return fmt.Errorf("bundle: %s: %w", name, err)
		}
	}
	if err := os.WriteFile("config.json", conf, 0o600); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the old root: %w", err)
	}
	return unix.Chdir("/")
}

// place makes a directory, and attaches a mount to it.
func place(dir int, name string, mount int) error {
	if err := unix.Mkdirat(dir, name, 0o700); err != nil || mount < 0 {
		return err
	}
	at, err := sys.OpenBeneath(dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(at)
	return sys.Attach(mount, at)
}

const pidFile, logFile = "/pid", "/log"

// runsc starts the sentry and waits until runsc itself has ended; nothing of it stays but
// the sentry and its file server.
func runsc(self int, network string) (int, error) {
	argv := []string{"runsc", "--root=/state", "--log=" + logFile, "--ignore-cgroups", "--network=" + network, "--platform=systrap", "--overlay2=none", "--directfs=false",
		"run", "--detach", "--bundle=/", "--pid-file=" + pidFile, "--pass-fd=3:3", "--exec-fd=4", "ringfence"}
	pid, err := syscall.ForkExec("/proc/self/fd/"+strconv.Itoa(stageProgram), argv, &syscall.ProcAttr{Dir: "/", Env: []string{"PATH=/"},
		Files: []uintptr{0, 1, 2, stageSocket, uintptr(self)}})
	if err != nil {
		return 0, fmt.Errorf("run runsc: %w", err)
	}
	var ws syscall.WaitStatus
	for {
		if _, err := syscall.Wait4(pid, &ws, 0, nil); err == nil {
			break
		} else if !errors.Is(err, syscall.EINTR) {
			return 0, err
		}
	}
	if ws != 0 {
		return 0, fmt.Errorf("runsc: %s%s", ended(ws), lastWords())
	}
	b, err := os.ReadFile(pidFile)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(b)))
}

func ended(ws syscall.WaitStatus) string {
	if ws.Signaled() {
		return "ended by " + ws.Signal().String()
	}
	return "exit " + strconv.Itoa(ws.ExitStatus())
}

// lastWords is the end of runsc's log.
func lastWords() string {
	b, err := os.ReadFile(logFile)
	if err != nil || len(b) == 0 {
		return ""
	}
	b = b[max(0, len(b)-400):]
	return ": " + strings.ToValidUTF8(strings.TrimSpace(string(b)), "?")
}
