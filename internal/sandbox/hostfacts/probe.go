package hostfacts

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/sandbox/cgroup"
)

// Probe raises every wall once, in the order of launch, and reports on each. It
// needs main to hand ProbeArg to ProbeMain and cgroup.JanitorArg to
// cgroup.JanitorMain.
func Probe(ctx context.Context) (Facts, []Result) {
	f := Quick()
	results := []Result{probeKernel(f)}
	namespaced := true // until the first trial says otherwise
	for _, t := range trials {
		if !namespaced && !t.plain {
			results = append(results, untried(t.name))
			continue
		}
		err := t.prepare(ctx)
		if err == nil {
			err = t.run(ctx)
		}
		if t.name == "user" && err != nil {
			namespaced = false
		}
		results = append(results, judge(t.name, err, f))
	}
	return f, append(results, probeLimits(ctx, f))
}

// Tried are the names of what Probe tries, in its order.
func Tried() []string {
	names := []string{"kernel"}
	for _, t := range trials {
		names = append(names, t.name)
	}
	return append(names, "limits")
}

// untried is for what cannot be tried without a user namespace. It has no fix of
// its own: the cure of the user namespace is the cure.
func untried(name string) Result {
	r := Result{Name: name, Status: Unusable, Detail: "not tried: it needs the user namespace"}
	if name == optional {
		r.Status = OK
	}
	return r
}

// optional is no wall: only copy-on-write workspaces would use it.
const optional = "overlay"

// prepare tells, for the user namespace, the clone from the maps written after
// it: os/exec gives one errno for both.
func (t trial) prepare(ctx context.Context) error {
	if t.name != "user" {
		return nil
	}
	c, cancel := child(ctx, "hello")
	defer cancel()
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
	if err := c.Start(); err != nil {
		return step("clone", errnoOf(err))
	}
	return c.Wait()
}

// probeKernel looks at the calls without which nothing can be built.
func probeKernel(f Facts) Result {
	worst := Present
	for _, c := range []Call{f.Calls.OpenAt2, f.Calls.OpenTree, f.Calls.MoveMount, f.Calls.MountSetattr, f.Calls.CloseRange, f.Calls.PidfdOpen} {
		if c == Absent || worst == Present {
			worst = c
		}
	}
	err := map[Call]error{Absent: unix.ENOSYS, Refused: unix.EPERM}[worst]
	if f.WSL == 1 {
		err = unix.ENOSYS
	}
	return judge("kernel", err, f)
}

// judge turns the outcome of a trial into a line of doctor.
func judge(name string, err error, f Facts) Result {
	r := Result{Name: name, Status: OK, Detail: praise(name, f)}
	if err == nil {
		if name == "landlock" && f.Landlock < 3 {
			r.Status = Degraded
			r.Detail += ": truncation (ABI 3) is not covered"
			if f.Landlock < 2 {
				r.Detail = strings.Replace(r.Detail, "truncation (ABI 3) is", "renames between directories (ABI 2) and truncation (ABI 3) are", 1)
			}
			r.Fix = "boot Linux 6.2 or later: it brings Landlock ABI 3"
		}
		return r
	}
	if name == optional {
		r.Detail = "not available: " + err.Error()
		return r
	}
	r.Status = Unusable
	reason, fix := Diagnose(name, err, f)
	r.Detail, r.Fix = fmt.Sprintf("%s (%v)", reason, err), fix
	return r
}

// praise is the detail of a wall that stands.
func praise(name string, f Facts) string {
	switch name {
	case "kernel":
		return "Linux " + f.Kernel + " " + f.Arch
	case "landlock":
		return fmt.Sprintf("ABI %d", f.Landlock)
	case "tty":
		if f.Sysctl.LegacyTIOCSTI == 1 {
			return "the kernel allows TIOCSTI: the filter and a terminal of our own close it"
		}
	}
	return ""
}

// probeLimits opens a group as the launch does and puts a child in.
func probeLimits(ctx context.Context, f Facts) Result {
	r := Result{Name: "limits", Status: OK}
	g, rep, err := cgroup.Open(fmt.Sprintf("probe-%d", os.Getpid()), cgroup.Limits{Pids: 64, Memory: 256 << 20})
	if err == nil {
		err = errors.Join(joinLimits(ctx, g), g.Close())
	}
	if err == nil && rep.Pids.Enforced() && rep.Memory.Enforced() {
		r.Detail = fmt.Sprintf("pids by %s, memory by %s", rep.Pids.By, rep.Memory.By)
		return r
	}
	r.Status, r.Fix = Degraded, f.LimitsFix()
	r.Detail = "pids: " + fate(rep.Pids) + ", memory: " + fate(rep.Memory)
	if err != nil {
		r.Detail = errnoOf(err).Error()
	}
	return r
}

func fate(l cgroup.Limit) string {
	if l.Enforced() {
		return "by " + string(l.By)
	}
	return "not enforced (" + l.Why + ")"
}

// joinLimits has a child live in the group for a moment.
func joinLimits(ctx context.Context, g *cgroup.Group) error {
	c, cancel := child(ctx, "wait")
	defer cancel()
	stdin, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if g.FD() >= 0 {
		c.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: g.FD()}
	}
	if err := c.Start(); err != nil {
		return err
	}
	err = g.Join(c.Process.Pid)
	stdin.Close()
	return errors.Join(err, c.Wait())
}

// LimitsFix is what makes the host lend limits.
func (f Facts) LimitsFix() string {
	switch {
	case f.Container != "":
		return "give the limits to the container instead: docker run --memory=8g --pids-limit=4096 …"
	case f.Systemd:
		return `sudo loginctl enable-linger "$USER" (a user manager makes the scopes; on cgroup v1 also boot with systemd.unified_cgroup_hierarchy=1)`
	}
	return "give this user a cgroup v2 subtree with the memory and pids controllers and start ringfence in a leaf of it"
}
