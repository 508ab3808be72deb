package sentry

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// begins is how long the stage may take from fork to exec.
const begins = 10 * time.Second

// Running is a sentry that waits for its plan.
type Running struct {
	PID  int      // of the sentry's process
	Init *os.File // the supervisor's end of the socket to the first process on it
}

// Start runs the stage and waits until it has started the sentry. It is called by PID 1 of
// the sandbox, when the view is there and before it gives up its own rights. program is
// runsc, opened by who judged it; proc is a procfs that can be written, and is attached
// nowhere that the agent sees.
func Start(p *plan.Plan, program, proc int) (Running, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Running{}, fmt.Errorf("socketpair: %w", err)
	}
	defer unix.Close(pair[1])
	r := Running{Init: os.NewFile(uintptr(pair[0]), "sentry")}
	r.PID, err = runStage(p, pair[1], program, proc)
	if err != nil {
		r.Init.Close()
		return Running{}, err
	}
	return r, nil
}

func runStage(p *plan.Plan, socket, program, proc int) (int, error) {
	conn, far, err := wire.Pair()
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	s := sys.Spawn{Path: "/proc/self/exe", Argv: append([]string{StageName}, passed()...), Dir: "/", Control: -1,
		Files:      []int{0, 1, 2, stageControl: int(far.Fd()), stageSocket: socket, stageProgram: program, stageProc: proc},
		Namespaces: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWIPC, Before: sys.KeepCalls(needs(p)),
		Born: func(pid int) error {
			if err := sys.MapUser(proc, pid, sys.IDs{UID: stageID, GID: stageID}, sys.IDs{UID: p.UID, GID: p.GID}); err != nil {
				return err
			}
			return join(veth(p), proc, pid)
		}}
	if veth(p) != nil {
		s.Namespaces |= unix.CLONE_NEWNET
	}
	pid, err := s.Start(begins)
	far.Close()
	if err != nil {
		return 0, fmt.Errorf("stage: %w", err)
	}
	m, err := order(conn, p)
	if err != nil {
		unix.Kill(pid, unix.SIGKILL)
	}
	for {
		if _, werr := unix.Wait4(pid, nil, 0, nil); werr != unix.EINTR {
			break
		}
	}
	return m.ID, err
}

// order gives the stage its plan and hears what became of it.
func order(conn *wire.Conn, p *plan.Plan) (wire.Message, error) {
	c := *p
	c.Process.Argv, c.Process.Env = []plan.Raw{"none"}, nil // no affair of the stage's
	head, contents, err := plan.Encode(&c)
	if err != nil {
		return wire.Message{}, err
	}
	if err := conn.SendPlan(head, contents...); err != nil {
		return wire.Message{}, err
	}
	m, _, err := conn.Receive()
	switch {
	case err != nil:
		return m, fmt.Errorf("the stage ended: %w", err)
	case m.Failure != nil && m.Failure.Errno != 0:
		return m, fmt.Errorf("%s: %w", m.Failure.Text, unix.Errno(m.Failure.Errno))
	case m.Kind != wire.Started || m.Failure != nil || m.ID <= 0:
		return m, fmt.Errorf("%s: %v", m.Kind, m.Failure)
	}
	return m, nil
}
