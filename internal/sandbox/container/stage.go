package container

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/inside"
	"ringfence.dev/ringfence/internal/sandbox/native"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// StageName is argv[0] of the first process of a container.
const StageName = stagePath

// StageMain is the first process of a container. It connects to the supervisor, starts
// the first process of the sandbox for it, and waits for whichever ends first: the engine
// then ends what is left in the container. It does not return.
func StageMain() {
	runtime.LockOSThread() // the child ends with the thread that forked it
	conn, err := connect(linkPath + "/" + socketName)
	if err != nil {
		os.Exit(1)
	}
	m, fds, err := conn.Receive()
	if err != nil {
		os.Exit(1)
	}
	if m.Kind == wire.Look {
		conn.Send(wire.Message{Kind: wire.Look, System: system()})
		os.Exit(0)
	}
	leak()
	switch m.Kind {
	case wire.Become:
		if len(fds) == 4 {
			native.Become([4]int(fds))
		}
		os.Exit(1)
	case wire.Hold:
		holdNet(conn)
	}
	pid, err := bear(conn, m, fds)
	if err != nil {
		f := &wire.Failure{Step: "container", Text: err.Error()}
		var step *rung.Failure
		if errors.As(err, &step) {
			f = &wire.Failure{Step: step.Step, Text: step.Text, Errno: int(step.Errno)}
		}
		conn.Send(wire.Message{Kind: wire.Failed, Failure: f})
		os.Exit(1)
	}
	go func() {
		conn.Send(wire.Message{Kind: wire.Exited, Status: int(native.Reap(pid))})
		// The container stays until the supervisor has read what its limits did.
	}()
	conn.Receive() // nothing is said any more: the supervisor has gone, or all is done
	os.Exit(0)
}

// holdNet raises the network of a plan, gives up the right to change it, and waits until
// nobody needs this container any more. It does not return.
func holdNet(conn *wire.Conn) {
	b, err := conn.ReceivePlan()
	if err != nil {
		os.Exit(1)
	}
	p, err := plan.Decode(b)
	if err != nil || p.Capture == nil || inside.Capture(p.Capture, conn) != nil || sys.DropCapabilities() != nil {
		os.Exit(1)
	}
	conn.Receive() // nothing is said any more
	os.Exit(0)
}

func connect(path string) (*wire.Conn, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
	}
	if err != nil {
		return nil, err
	}
	return wire.Inherited(fd), nil
}

// system is what the image has.
func system() (out []wire.Node) {
	for _, n := range hostfacts.Image() {
		out = append(out, wire.Node{Path: []byte(n.Path), Link: []byte(n.Link), Real: []byte(n.Real)})
	}
	return out
}

// bear starts the first process of the sandbox as the supervisor says.
func bear(conn *wire.Conn, m wire.Message, fds []int) (int, error) {
	if m.Kind != wire.Clone || m.Child == nil || len(fds) != 4 {
		return 0, fmt.Errorf("%q came with %d descriptors", m.Kind, len(fds))
	}
	pidfd := -1
	c := native.Child{UID: m.Child.UID, GID: m.Child.GID, Group: -1, PidFD: &pidfd}
	for _, w := range m.Child.Walls {
		c.Walls = append(c.Walls, plan.Wall(w))
	}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "stream")
		defer f.Close()
		if i < 3 {
			c.Stdio[i] = f
		} else {
			c.Control = f
		}
	}
	pid, err := c.Clone()
	if err != nil {
		return 0, err
	}
	if pidfd < 0 {
		syscall.Kill(pid, syscall.SIGKILL)
		return 0, errors.New("this kernel has no descriptors of processes")
	}
	defer unix.Close(pidfd)
	if err := sys.DropCapabilities(); err != nil {
		return 0, err // and the child ends with us
	}
	return pid, conn.Send(wire.Message{Kind: wire.Born}, pidfd)
}
