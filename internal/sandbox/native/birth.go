package native

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/netns"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/self"
)

// Birth starts the first process of a sandbox: our own binary as the inside stage, in the
// namespaces of the plan, with the session's streams and this control socket. A process
// that it returns beside an error is still to be ended.
type Birth func(p *plan.Plan, control *os.File) (*First, error)

// First is the first process of a sandbox. It is one of this kernel's.
type First struct {
	PID  int
	Kill func()
	Wait func() syscall.WaitStatus // until it has ended; how, where that is known

	// Ended waits for its end, too, and leaves it for Wait; nil: nothing is won by that.
	Ended func()

	// Leave is called when the agent has ended, and ends it; nil: it ends by itself then.
	Leave func()
	// Look is what the host's kernel shows of it; nil: it can be asked at any time.
	Look func() (map[string]string, error)
	// Root is its root; nil: it can be opened at any time.
	Root *os.File
	// Net are the sockets of its network, where it is not the one that opens them.
	Net []netns.Socket
}

var namespaces = map[plan.Wall]uintptr{
	plan.WallUser: unix.CLONE_NEWUSER, plan.WallMount: unix.CLONE_NEWNS, plan.WallPID: unix.CLONE_NEWPID,
	plan.WallIPC: unix.CLONE_NEWIPC, plan.WallUTS: unix.CLONE_NEWUTS, plan.WallNet: unix.CLONE_NEWNET,
	plan.WallCgroup: unix.CLONE_NEWCGROUP,
}

// setup is what the inside stage needs while it builds, all of it within its own
// user namespace, and none of it afterwards.
var setup = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_SYS_RESOURCE, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP, unix.CAP_DAC_OVERRIDE}

// forked is the birth of a child of our own.
func forked(h rung.Hooks, sentry *os.File) Birth {
	return func(p *plan.Plan, control *os.File) (*First, error) {
		var pid int
		fork := func(group int) (err error) {
			b := Child{Walls: p.Walls, UID: p.UID, GID: p.GID, Stdio: [3]*os.File{h.Stdio.In, h.Stdio.Out, h.Stdio.Err}, Control: control, Sentry: sentry, Group: group}
			pid, err = b.Clone()
			return err
		}
		var err error
		if h.Within != nil {
			err = h.Within(fork)
		} else {
			err = fork(-1)
		}
		if pid == 0 {
			return nil, err
		}
		return &First{PID: pid, Kill: func() { unix.Kill(pid, unix.SIGKILL) }, Wait: func() syscall.WaitStatus { return Reap(pid) }, Ended: func() { awaitEnd(pid) }}, err
	}
}

// Reap waits for the end of a child.
func Reap(pid int) (ws syscall.WaitStatus) {
	for {
		if _, err := syscall.Wait4(pid, &ws, 0, nil); !errors.Is(err, syscall.EINTR) {
			return ws
		}
	}
}

// awaitEnd waits for the end of a child, who is reaped later. To reap the first process of a
// sandbox is to take down what is known of it in /proc, beside the kernel which takes down
// all of that one's /proc: the two wait for each other in loops, for 5 ms and more.
func awaitEnd(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// Child is a first process that is to be.
type Child struct {
	Walls    []plan.Wall
	UID, GID int // inside; outside they are ours
	Stdio    [3]*os.File
	Control  *os.File
	Sentry   *os.File // nil: there is none
	Group    int      // descriptor of a cgroup; -1: ours
	PidFD    *int     // gets a descriptor of the process; may be nil
}

// Clone starts our own program in the new namespaces, with an empty environment
// and a bare argv from birth.
func (c Child) Clone() (int, error) {
	var flags uintptr
	for _, w := range c.Walls {
		flags |= namespaces[w]
	}
	attr := &syscall.SysProcAttr{Cloneflags: flags, Pdeathsig: unix.SIGKILL, UseCgroupFD: c.Group >= 0, CgroupFD: c.Group, PidFD: c.PidFD}
	if flags&unix.CLONE_NEWUSER != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: c.UID, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: c.GID, HostID: os.Getegid(), Size: 1}}
		attr.AmbientCaps = setup
	}
	files := []uintptr{c.Stdio[0].Fd(), c.Stdio[1].Fd(), c.Stdio[2].Fd(), c.Control.Fd()}
	if c.Sentry != nil {
		files = append(files, c.Sentry.Fd())
		attr.AmbientCaps = append(slices.Clone(attr.AmbientCaps), unix.CAP_SETFCAP) // to map root, for whom it is
	}
	pid, err := syscall.ForkExec(self.Path(), insideArgv(), &syscall.ProcAttr{
		Dir: "/", Env: []string{}, Files: files, Sys: attr})
	runtime.KeepAlive(c)
	if err != nil {
		f := &rung.Failure{Step: string(plan.WallUser), Text: fmt.Sprintf("make namespaces: %v", err)}
		errors.As(err, &f.Errno)
		return 0, f
	}
	return pid, nil
}

// Become makes this very process the first one of a sandbox, on these streams and this
// control socket. It returns only an error.
func Become(fds [4]int) error {
	for i, fd := range fds { // above all that they will be
		up, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, len(fds))
		if err != nil {
			return err
		}
		fds[i] = up
	}
	for i, fd := range fds {
		if err := unix.Dup3(fd, i, 0); err != nil {
			return err
		}
	}
	return syscall.Exec(self.Whole, insideArgv(), []string{})
}
