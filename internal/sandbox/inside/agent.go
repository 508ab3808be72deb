package inside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// runAgent starts the agent and stays as its init: reaps, forwards signals, and
// ends the namespace when the agent ends.
func runAgent(conn *wire.Conn, p *plan.Plan) (syscall.WaitStatus, error) {
	name, err := lookPath(string(p.Process.Argv[0]), p.Process.Env, string(p.Process.Dir))
	if err != nil {
		return 0, &step{"exec", err}
	}
	// PID 1 leads the session and the agent leads the foreground job of it, as
	// under a shell: a job whose parent is in another session is orphaned, and
	// the kernel would ignore Ctrl-Z.
	if _, err := unix.Setsid(); err != nil && !errors.Is(err, unix.EPERM) {
		return 0, &step{"tty", fmt.Errorf("setsid: %w", err)}
	}
	files, tty, stream, err := stdio(conn, p)
	if err != nil {
		return 0, &step{"tty", err}
	}
	unix.Umask(int(p.Process.Umask))
	child, err := syscall.ForkExec(name, raws(p.Process.Argv), &syscall.ProcAttr{
		Dir: string(p.Process.Dir), Env: raws(p.Process.Env), Files: files,
		Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, &step{"exec", fmt.Errorf("%q: %w", name, err)}
	}
	if tty >= 0 {
		// We are in the foreground until here, so this cannot stop us. Had the
		// agent touched the terminal before, it was stopped: let it go on.
		unix.IoctlSetPointerInt(tty, unix.TIOCSPGRP, child)
		unix.Kill(-child, unix.SIGCONT)
		// tty stays open here: else the terminal would end for the supervisor
		// when an agent closes it to open /dev/tty anew.
	}
	// At once: the agent runs and may be heard of before the supervisor knows.
	if err := conn.Send(wire.Message{Kind: wire.Started}); err != nil {
		return 0, &step{"confirm", err}
	}
	releaseStdio()
	time.AfterFunc(giveBackAfter, func() {
		if within(p) {
			runtime.GOMAXPROCS(runtime.NumCPU()) // it is 1 until here; see package sentry
		}
		sys.GiveBack()
	})
	in := &first{conn: conn, plan: p, agent: child, beside: map[int]int{}, pumps: map[int]*pump{0: stream}}
	orders := make(chan order)
	go obey(conn, orders)
	ws, err := in.attend(orders)
	if tty >= 0 {
		unix.Close(tty)
	}
	stream.finish()
	return ws, err
}

// giveBackAfter is when an agent is one that stays.
const giveBackAfter = time.Second

// order is something that only the thread which forked the agent may do.
type order struct {
	id      int // 0: the agent
	signal  syscall.Signal
	command *wire.Command
	files   []int
	size    *unix.Winsize
}

// obey takes orders from the supervisor. When the supervisor is gone, so are we.
func obey(conn *wire.Conn, orders chan<- order) {
	for {
		m, fds, err := conn.Receive()
		if err != nil {
			os.Exit(1)
		}
		switch {
		case m.Kind == wire.Signal && m.Signal > 0:
			orders <- order{id: m.ID, signal: syscall.Signal(m.Signal)}
		case m.Kind == wire.Size:
			orders <- order{id: m.ID, size: &unix.Winsize{Row: m.Rows, Col: m.Cols}}
		case m.Kind == wire.Exec && m.Command != nil:
			orders <- order{id: m.ID, command: m.Command, files: fds}
		case m.Kind == wire.Socket:
			handOut(conn, m.IPv6)
		case m.Kind == wire.Dial:
			go dial(conn, m, fds)
		case m.Kind == wire.Servers:
			go servers(conn, m)
		case m.Kind == wire.Owner:
			go made.answer(conn, m)
		}
	}
}

// handOut gives the supervisor a socket of this namespace, by which it reaches a
// server here that is published.
func handOut(conn *wire.Conn, six bool) {
	family := unix.AF_INET
	if six {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		conn.Send(wire.Message{Kind: wire.Socket})
		return
	}
	conn.Send(wire.Message{Kind: wire.Socket}, fd)
	unix.Close(fd)
}

// first is what PID 1 does while the agent runs.
type first struct {
	conn   *wire.Conn
	plan   *plan.Plan
	agent  int
	beside map[int]int // what runs beside the agent: id by pid

	pumps map[int]*pump // of terminals that the sentry has, by id
}

// attend carries out orders and waits for whatever becomes our child, as an init
// must, until the agent itself has ended. It stays on the thread that forked the
// agent: before Landlock ABI 8 every thread has a domain of its own, and a domain
// may only signal what was forked in it.
func (in *first) attend(orders <-chan order) (syscall.WaitStatus, error) {
	for {
		ws, ended, err := in.reap()
		if ended || err != nil {
			return ws, err
		}
		select {
		case o := <-orders:
			in.do(o)
		case <-received:
		}
	}
}

// reap collects every child that has changed.
func (in *first) reap() (ws syscall.WaitStatus, ended bool, err error) {
	for {
		pid, err := syscall.Wait4(-1, &ws, syscall.WUNTRACED|syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, false, &step{"wait", err}
		case pid == 0:
			return 0, false, nil
		case pid == in.agent && !ws.Stopped():
			return ws, true, nil
		case pid == in.agent:
			err = in.conn.Send(wire.Message{Kind: wire.Stopped, Signal: int(ws.StopSignal())})
		case in.beside[pid] != 0 && !ws.Stopped():
			err = in.exited(in.beside[pid], ws)
			delete(in.beside, pid)
		}
		if err != nil {
			return 0, false, &step{"wait", err}
		}
	}
}

// stdio returns the agent's three descriptors. Where the user has a terminal the
// agent gets a terminal of our own devpts, and the supervisor its other end: the
// user's terminal itself never comes inside.
func stdio(conn *wire.Conn, p *plan.Plan) (files []uintptr, tty int, stream *pump, err error) {
	files = []uintptr{0, 1, 2}
	if has(p, plan.WallMount) || p.Built {
		if err := ownNull(0, 1, 2); err != nil {
			return nil, -1, nil, err
		}
	}
	if p.Process.TTY == 0 {
		return files, -1, nil, nil
	}
	master, slave, err := newTerminal()
	if err != nil {
		return nil, -1, nil, err
	}
	if err := unix.IoctlSetInt(slave, unix.TIOCSCTTY, 0); err != nil {
		return nil, -1, nil, fmt.Errorf("take terminal: %w", err)
	}
	// The supervisor sets the window size before it says that it is ready.
	if within(p) {
		stream, err = handStream(conn, master)
	} else {
		err = handMaster(conn, master)
	}
	if err != nil {
		return nil, -1, nil, err
	}
	for i := range files {
		if p.Process.TTY&(1<<i) != 0 {
			files[i] = uintptr(slave)
		}
	}
	return files, slave, stream, nil
}

// handMaster gives the supervisor the master itself.
func handMaster(conn *wire.Conn, master int) error {
	defer unix.Close(master)
	if err := conn.Send(wire.Message{Kind: wire.PTY}, master); err != nil {
		return err
	}
	if m, _, err := conn.Receive(); err != nil || m.Kind != wire.Go {
		return fmt.Errorf("terminal was not taken over: %v", err)
	}
	return nil
}

// newTerminal makes a terminal of our own devpts.
func newTerminal() (master, slave int, err error) {
	if master, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
		return -1, -1, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	if err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0); err != nil {
		err = fmt.Errorf("unlock terminal: %w", err)
	} else if slave, err = peer(master); err != nil {
		err = fmt.Errorf("open terminal: %w", err)
	}
	if err != nil {
		unix.Close(master)
	}
	return master, slave, err
}

// ownNull puts the null device of the view in the place of the host's: through a
// descriptor of the host's, root could change its mode.
func ownNull(fds ...int) error {
	for _, fd := range fds {
		var st unix.Stat_t
		if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != unix.Mkdev(1, 3) {
			continue
		}
		null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("open /dev/null: %w", err)
		}
		how := unix.O_CLOEXEC
		if fd < 3 {
			how = 0
		}
		if err := unix.Dup3(null, fd, how); err != nil {
			return fmt.Errorf("take /dev/null: %w", err)
		}
		unix.Close(null)
	}
	return nil
}

// peer opens the other end of a terminal by descriptor, without a name.
func peer(master int) (int, error) {
	fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
	if errno == unix.ENOTTY { // the sentry knows names only
		n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
		if err != nil {
			return -1, err
		}
		return unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	}
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

// releaseStdio lets go of the pipes of the agent, so that they close when the
// agent closes them and not when we end.
func releaseStdio() {
	null, err := unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	for fd := range 3 {
		unix.Dup3(null, fd, 0)
	}
	unix.Close(null)
}

// lookPath finds the program in the new root by the agent's own PATH. Relative
// entries are not searched.
func lookPath(name string, env []plan.Raw, dir string) (string, error) {
	if strings.Contains(name, "/") {
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		return name, executable(name)
	}
	var found error = &fs.PathError{Op: "find", Path: name, Err: unix.ENOENT}
	for _, e := range env {
		list, ok := strings.CutPrefix(string(e), "PATH=")
		if !ok {
			continue
		}
		for _, d := range strings.Split(list, ":") {
			if !path.IsAbs(d) {
				continue
			}
			p := path.Join(d, name)
			err := executable(p)
			if err == nil {
				return p, nil
			}
			if errors.Is(err, unix.EACCES) {
				found = err
			}
		}
	}
	return "", found
}

func executable(name string) error {
	var st unix.Stat_t
	if err := unix.Stat(name, &st); err != nil {
		return &fs.PathError{Op: "find", Path: name, Err: err}
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || unix.Access(name, unix.X_OK) != nil {
		return &fs.PathError{Op: "execute", Path: name, Err: unix.EACCES}
	}
	return nil
}

func raws(in []plan.Raw) []string {
	out := make([]string, len(in))
	for i, r := range in {
		out[i] = string(r)
	}
	return out
}
