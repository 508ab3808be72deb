package inside

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// begins is how long a command may take from fork to exec where nobody stops it: the
// machine may be slow, and we reap nobody meanwhile.
const begins = 30 * time.Second

// maxBeside bounds what runs beside the agent at once.
const maxBeside = 64

// do carries out one order.
func (in *first) do(o order) {
	if o.size != nil {
		in.resize(o)
		return
	}
	defer closeAll(o.files)
	if o.command == nil {
		in.pass(o)
		return
	}
	m := wire.Message{Kind: wire.Exec, ID: o.id}
	master, err := in.start(o)
	var fds []int
	if master >= 0 {
		defer unix.Close(master)
		fds = append(fds, master)
	}
	if err != nil {
		m.Failure = &wire.Failure{Step: "exec", Text: err.Error()}
		var errno syscall.Errno
		if errors.As(err, &errno) {
			m.Failure.Errno = int(errno)
		}
		fds = nil
	}
	in.conn.Send(m, fds...)
}

// pass sends a signal to the job of the agent, or to that of a command beside it.
func (in *first) pass(o order) {
	if o.id == 0 {
		unix.Kill(-in.agent, o.signal)
		return
	}
	for pid, id := range in.beside {
		if id == o.id {
			unix.Kill(-pid, o.signal)
		}
	}
}

// start runs a command beside the agent. It is a child of ours as the agent is, forked
// by the same thread, and so behind the same walls. It leads a session of its own: what
// it does with its terminal is no affair of the agent's.
func (in *first) start(o order) (master int, err error) {
	c := o.command
	files := 3
	if within(in.plan) && c.TTY != 0 {
		files = 4 // and the stream of its terminal
	}
	if len(o.files) != files || o.id <= 0 || len(c.Argv) == 0 {
		return -1, errors.New("the order is not whole")
	}
	if len(in.beside) >= maxBeside {
		return -1, fmt.Errorf("%d commands run beside the agent: no more are started", maxBeside)
	}
	dir, env := string(in.plan.Process.Dir), besideEnv(in.plan.Process.Env, c.Env)
	if len(c.Dir) > 0 {
		dir = string(c.Dir)
	}
	if has(in.plan, plan.WallMount) || in.plan.Built {
		if err := ownNull(o.files...); err != nil {
			return -1, err
		}
	}
	name, err := lookPath(string(c.Argv[0]), env, dir)
	if err != nil {
		return -1, err
	}
	master = -1
	s := sys.Spawn{Path: name, Env: raws(env), Dir: dir, Files: slices.Clone(o.files[:3]), Control: -1}
	if c.TTY != 0 {
		var slave int
		if master, slave, err = newTerminal(); err != nil {
			return -1, err
		}
		defer unix.Close(slave)
		unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: c.Rows, Col: c.Cols})
		for i := range s.Files {
			if c.TTY&(1<<i) != 0 {
				s.Files[i], s.Control = slave, i
			}
		}
	}
	for _, a := range c.Argv {
		s.Argv = append(s.Argv, string(a))
	}
	pid, err := s.Start(begins)
	if err != nil {
		return master, fmt.Errorf("%q: %w", name, err)
	}
	in.beside[pid] = o.id
	if files == 4 {
		return -1, in.pumpTo(o, master)
	}
	return master, nil
}

// pumpTo connects the terminal of a command with the stream that came for it.
func (in *first) pumpTo(o order, master int) error {
	socket, err := unix.FcntlInt(uintptr(o.files[3]), unix.F_DUPFD_CLOEXEC, 0)
	if err == nil {
		in.pumps[o.id], err = newPump(master, socket)
	}
	if err != nil {
		in.pass(order{id: o.id, signal: unix.SIGKILL})
	}
	return err
}

// besideEnv is the agent's environment with a few names set anew.
func besideEnv(env []plan.Raw, over [][]byte) []plan.Raw {
	out := make([]plan.Raw, 0, len(env)+len(over))
	for _, e := range env {
		name, _, _ := strings.Cut(string(e), "=")
		replaced := false
		for _, o := range over {
			replaced = replaced || strings.HasPrefix(string(o), name+"=")
		}
		if !replaced {
			out = append(out, e)
		}
	}
	for _, o := range over {
		out = append(out, plan.Raw(o))
	}
	return out
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
