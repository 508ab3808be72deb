package inside

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/sentry"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// sentryStep is no wall: it starts the kernel on which the agent runs, within the walls.
const sentryStep = "sentry"

// vethStep is the part of it that joins the sentry's network stack to the gate.
const vethStep = "veth"

// programFD is where the supervisor left runsc, opened for us, if the plan has a sentry.
const programFD = controlFD + 1

// around holds for PID 1 of the sandbox that a sentry runs in.
func around(p *plan.Plan) bool { return p.Sentry != nil && !p.Sentry.Inside }

// within holds for PID 1 on the sentry's kernel.
func within(p *plan.Plan) bool { return p.Sentry != nil && p.Sentry.Inside }

// ownProc makes a procfs that is attached nowhere: the one in the view is read-only, and
// the maps of the sentry's user namespace are written in proc. It is made while the
// kernel still sees the host's, or it would refuse it.
func ownProc(p *plan.Plan) (int, error) {
	if !around(p) {
		return -1, nil
	}
	return sys.NewMount("proc", quietAttr|unix.MOUNT_ATTR_NOEXEC)
}

// startSentry starts the sentry, and forbids any further user namespace.
func startSentry(p *plan.Plan, proc int) (*sentry.Running, error) {
	if !around(p) {
		return nil, nil
	}
	defer unix.Close(programFD)
	defer unix.Close(proc)
	r, err := sentry.Start(p, programFD, proc)
	if err == nil && has(p, plan.WallNested) {
		err = noNestedUsers(p, fmt.Sprintf("/proc/self/fd/%d", proc))
	}
	var veth *sentry.NoVeth
	if errors.As(err, &veth) {
		err = &step{vethStep, veth}
	}
	return &r, err
}

// attendSentry waits, as an init must, until the sentry has ended. What the supervisor
// wants of the agent it tells PID 1 on the sentry's kernel; of us only sockets.
func attendSentry(conn *wire.Conn, r *sentry.Running) (syscall.WaitStatus, error) {
	r.Init.Close() // the supervisor's alone
	releaseStdio()
	go func() {
		for {
			m, fds, err := conn.Receive()
			if err != nil {
				os.Exit(1)
			}
			closeAll(fds)
			if m.Kind == wire.Socket {
				handOut(conn, m.IPv6)
			}
		}
	}()
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, &step{"wait", err}
		case pid == r.PID:
			return ws, nil
		}
	}
}
