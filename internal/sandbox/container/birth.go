package container

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/self"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// socketName is that of the socket by which the container's first process comes to us.
const socketName = "s"

// vessel is a container that is started for one sandbox.
type vessel struct {
	engine  *engine
	name    string
	janitor *cgroup.Janitor // removes it when we end, or cannot
	conn    *wire.Conn      // to its first process, which ends with it
	pid     int             // of that process
	first   *os.File        // a descriptor of it

	ending sync.Once
	gone   chan struct{} // closed when the engine has removed it; nil: it never ran
	status syscall.WaitStatus
	whole  bool // its first process outlived the sandbox, and told how that ended
	hit    cgroup.Events
	wanted atomic.Bool // we end it
	alone  atomic.Bool // the engine is gone
}

// launch makes the container and returns when its first process has come to us. From
// then on the container ends with the connection.
func launch(ctx context.Context, e *engine, o order, dir string) (*vessel, error) {
	v := &vessel{engine: e, name: o.name()}
	// First the one who tidies: there is no moment at which a kill -9 leaves a container
	// that nobody will remove.
	var err error
	if v.janitor, err = cgroup.StartJanitor(self.Whole, JanitorArg, e.socket, v.name); err != nil {
		return nil, err
	}
	if err := v.start(ctx, o, dir); err != nil {
		v.end()
		return nil, err
	}
	return v, nil
}

func (v *vessel) start(ctx context.Context, o order, private string) error {
	// The engine finds the socket by its name. Who can put another in its place has the
	// container: so it never lies where TMPDIR says, which may be some agent's workspace.
	if private == "" {
		return errors.New("there is no place for the socket of a container")
	}
	dir, err := os.MkdirTemp(private, "link-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) // the connection needs no name
	l, err := listen(dir)
	if err != nil {
		return err
	}
	defer l.Close()
	if !o.ours() { // it is root without a right to pass by modes; nobody else reaches the directory around
		if err := errors.Join(os.Chmod(dir, 0o711), os.Chmod(filepath.Join(dir, socketName), 0o666)); err != nil {
			return err
		}
	}
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	o.HostConfig.Mounts = append(o.HostConfig.Mounts, share(exe, stagePath, true), share(dir, linkPath, true))
	if err := v.engine.create(ctx, v.name, o); err != nil {
		return err
	}
	if err := v.engine.start(ctx, v.name); err != nil {
		return err
	}
	v.gone = make(chan struct{})
	err = v.meet(ctx, l)
	if err == nil && o.ours() { // of others' processes the kernel does not tell us; they are given no secret
		err = sameProgram(v.pid)
	}
	go v.watch()
	return err
}

// meet waits for the container's first process.
func (v *vessel) meet(ctx context.Context, l *os.File) (err error) {
	if v.pid, err = v.engine.first(ctx, v.name); err != nil {
		return err
	}
	fd, err := unix.PidfdOpen(v.pid, 0)
	if err != nil {
		return fmt.Errorf("the container's first process: %w", err)
	}
	v.first = os.NewFile(uintptr(fd), "first process")
	late, cancel := context.WithTimeoutCause(ctx, patience, errors.New("the container's first process did not come to us: does the engine run containers on this machine's own kernel?"))
	defer cancel()
	v.conn, err = accept(late, l, v.pid, fd)
	return err
}

// watch ends the sandbox when the engine is gone: nobody could say what holds then.
func (v *vessel) watch() {
	defer close(v.gone)
	if v.engine.removed(context.Background(), v.name) != nil && v.conn != nil {
		v.alone.Store(true)
		v.cut()
	}
}

// cut ends the first process of the container, and with it everything in it.
func (v *vessel) cut() {
	if v.conn != nil {
		v.conn.Shutdown()
	}
	if v.first != nil {
		kill(v.first)
	}
}

// bear has the first process of a sandbox started in the container.
func (v *vessel) bear(ctx context.Context, p *plan.Plan, stdio rung.Stdio, control *os.File) (*native.First, error) {
	ctx, cancel := context.WithTimeout(ctx, patience) // somebody may have paused it
	defer cancel()
	defer context.AfterFunc(ctx, v.conn.Shutdown)()
	c := &wire.Child{UID: p.UID, GID: p.GID}
	for _, w := range p.Walls {
		c.Walls = append(c.Walls, string(w))
	}
	if err := v.conn.Send(wire.Message{Kind: wire.Clone, Child: c}, int(stdio.In.Fd()), int(stdio.Out.Fd()), int(stdio.Err.Fd()), int(control.Fd())); err != nil {
		return nil, err
	}
	m, fds, err := v.conn.Receive()
	switch {
	case err != nil:
		return nil, fmt.Errorf("the container: %w", err)
	case m.Kind == wire.Failed && m.Failure != nil:
		return nil, &rung.Failure{Step: m.Failure.Step, Errno: syscall.Errno(m.Failure.Errno), Text: "in the container: " + m.Failure.Text}
	case m.Kind != wire.Born || len(fds) != 1:
		return nil, fmt.Errorf("the container said %q with %d descriptors", m.Kind, len(fds))
	}
	pidfd := os.NewFile(uintptr(fds[0]), "first process")
	first := &native.First{}
	first.Kill = func() {
		kill(pidfd)
		go v.end() // who is in a container that somebody paused ends when the engine ends it
	}
	first.Wait = func() syscall.WaitStatus {
		v.wait(pidfd)
		return v.status
	}
	first.PID, err = numberOf(int(pidfd.Fd()))
	return first, err
}

// kill does nothing once the process is waited for.
func kill(pidfd *os.File) {
	if c, err := pidfd.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.PidfdSendSignal(int(fd), unix.SIGKILL, nil, 0) })
	}
}

// wait returns when the sandbox's first process has ended and the container is removed.
func (v *vessel) wait(pidfd *os.File) {
	if m, _, err := v.conn.Receive(); err == nil && m.Kind == wire.Exited {
		v.status = syscall.WaitStatus(m.Status)
		v.whole, v.hit = true, cgroup.GroupsOf(v.pid).Events()
	}
	kill(pidfd) // where the container's first process went first
	await(pidfd)
	pidfd.Close()
	v.over()
}

// over ends the container and lets go of it.
func (v *vessel) over() {
	v.end()
	select {
	case <-v.gone:
		v.conn.Close()
	default: // watch may still use it
	}
}

// await returns when a process has ended.
func await(pidfd *os.File) {
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd.Fd()), Events: unix.POLLIN}}, -1)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// end ends the container, and returns when it is gone.
func (v *vessel) end() {
	v.ending.Do(func() {
		v.cut()
		removed := make(chan struct{})
		go func() {
			defer close(removed)
			v.janitor.Stop()
			if v.gone != nil {
				<-v.gone
			}
		}()
		select {
		case <-removed:
		case <-time.After(parting): // the janitor goes on
		}
	})
}

// parting is for an engine to remove a container. Nothing runs in it any more: an engine that
// hangs must not hold us.
const parting = 20 * time.Second

// box is a sandbox in a container.
type box struct {
	rung.Sandbox
	vessel *vessel
}

// Wait implements rung.Sandbox: who ended the container is said where it was neither the agent
// nor who killed the sandbox alone, as is told on every rung.
func (b box) Wait() (rung.Exit, error) {
	exit, err := b.Sandbox.Wait()
	exit.Hit = b.vessel.hit
	switch v := b.vessel; {
	case err != nil || !exit.Killed || v.wanted.Load() || v.whole:
	case v.alone.Load():
		err = fault.New(fault.Failed, "", "the container engine is gone, so the session was ended")
	default:
		err = fault.New(fault.Failed, "", "the container was ended from outside")
	}
	return exit, err
}

// Close implements rung.Sandbox.
func (b box) Close() error {
	b.vessel.wanted.Store(true)
	return b.Sandbox.Close()
}

// listen opens the socket. Its directory is reached by a descriptor, because the name of a
// socket must be short.
func listen(path string) (*os.File, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "link")
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName)}); err != nil {
		f.Close()
		return nil, fmt.Errorf("socket for the container: %w", err)
	}
	if err := unix.Listen(fd, 1); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// accept waits for the first process of the container, and for nobody else.
func accept(ctx context.Context, l *os.File, pid, watch int) (*wire.Conn, error) {
	for {
		poll := []unix.PollFd{{Fd: int32(l.Fd()), Events: unix.POLLIN}, {Fd: int32(watch), Events: unix.POLLIN}}
		_, err := unix.Poll(poll, 200)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil && !errors.Is(err, unix.EINTR):
			return nil, err
		case poll[0].Revents == 0 && poll[1].Revents != 0:
			return nil, errors.New("the container's first process ended before it came to us")
		case poll[0].Revents == 0:
			continue
		}
		fd, _, err := unix.Accept4(int(l.Fd()), unix.SOCK_CLOEXEC)
		if err != nil {
			continue
		}
		peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
		if err == nil && int(peer.Pid) == pid {
			return wire.Inherited(fd), nil
		}
		unix.Close(fd)
	}
}

// sameProgram wants the container's first process to be this very program: its file was
// named to the engine by path.
func sameProgram(pid int) error {
	var ours, theirs unix.Stat_t
	err := errors.Join(unix.Stat("/proc/self/exe", &ours), unix.Stat("/proc/"+strconv.Itoa(pid)+"/exe", &theirs))
	if err == nil && (ours.Dev != theirs.Dev || ours.Ino != theirs.Ino) {
		err = errors.New("it is not the program that runs here: was ringfence replaced just now?")
	}
	if err != nil {
		return fmt.Errorf("the container's first process: %w", err)
	}
	return nil
}

// numberOf is the number of a process on this machine, as the kernel has it.
func numberOf(pidfd int) (int, error) {
	b, err := os.ReadFile("/proc/self/fdinfo/" + strconv.Itoa(pidfd))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "Pid:"); ok {
			if pid, err := strconv.Atoi(strings.TrimSpace(v)); err == nil && pid > 0 {
				return pid, nil
			}
		}
	}
	return 0, errors.New("the engine's processes cannot be seen from here: ringfence must run where the engine does")
}
