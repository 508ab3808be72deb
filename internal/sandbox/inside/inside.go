// Package inside is what runs in the new namespaces before the agent: PID 1. It
// reads one plan from its control socket, builds the view, raises the walls one by
// one, proves them, and only then starts the agent. It starts with an empty
// environment and an argv that says nothing, so that /proc/1 has nothing to tell.
//
// Every error ends the process, and with it the PID namespace: no half sandbox
// survives.
package inside

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// Name is argv[0] of the inside stage.
const Name = "ringfence-inside"

// controlFD is where the supervisor left our end of the control socket.
const controlFD = 3

// received gets the signals below. Only that a child has changed is of interest,
// and one signal may stand for several.
var received = make(chan os.Signal, 1)

// handled are SIGCHLD and the signals that would end or stop a Go program: inside
// anybody may send them to PID 1. No other has an effect on it as it is. They are
// named one by one because asking for all 64 takes a tenth of a launch.
var handled = []os.Signal{unix.SIGCHLD, unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS,
	unix.SIGFPE, unix.SIGSEGV, unix.SIGTERM, unix.SIGSTKFLT, unix.SIGSYS, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU}

// step is an error with the step it belongs to, so that the supervisor can tell
// which wall failed.
type step struct {
	name string
	err  error
}

func (s *step) Error() string { return s.name + ": " + s.err.Error() }
func (s *step) Unwrap() error { return s.err }

// init keeps the main goroutine on the first thread. Later it may have been moved to
// another: the bounding set is dropped on the thread that runs, and the kernel shows
// that of the first one as the process's. A busy machine refused launches so.
func init() {
	if len(os.Args) > 0 && os.Args[0] == Name {
		runtime.LockOSThread()
	}
}

// Main runs the inside stage and does not return. It must be called on the main
// thread: session keyring and parent-death signal belong to a thread.
func Main() {
	runtime.LockOSThread()
	// Memory is part of the product: after set-up PID 1 only waits.
	debug.SetGCPercent(50)
	conn := wire.Inherited(controlFD)
	status, stays, err := session(conn)
	if err != nil {
		report(conn, err)
		os.Exit(1)
	}
	conn.Send(wire.Message{Kind: wire.Exit, Status: int(status)})
	if stays {
		select {} // the container goes with us: the supervisor ends us once it has read what its limits did
	}
	os.Exit(0)
}

func report(conn *wire.Conn, err error) {
	f := &wire.Failure{Step: "inside", Text: err.Error()}
	var s *step
	if errors.As(err, &s) {
		f.Step, f.Text = s.name, s.err.Error()
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		f.Errno = int(errno)
	}
	conn.Send(wire.Message{Kind: wire.Failed, Failure: f})
}

// session is all of it. It says whether PID 1 stays when the agent has ended.
func session(conn *wire.Conn) (ws syscall.WaitStatus, stays bool, err error) {
	if err := isolateSelf(); err != nil {
		return 0, false, &step{"inside", err}
	}
	p, err := receivePlan(conn)
	if err != nil {
		return 0, false, &step{"plan", err}
	}
	r, err := raise(p)
	if err != nil {
		return 0, false, err
	}
	if err := handWatch(conn, r); err != nil {
		return 0, false, err
	}
	if err := confirm(conn, p, r); err != nil {
		return 0, false, err
	}
	if r.sentry != nil {
		ws, err = attendSentry(conn, r.sentry)
		return ws, false, err
	}
	p.Forget()
	ws, err = runAgent(conn, p)
	return ws, p.Built, err
}

// isolateSelf takes away what PID 1 could give to its children: a debugger's
// access to its memory and descriptors, inherited descriptors, a life of its own.
func isolateSelf() error {
	if !mutated("dumpable") {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			return fmt.Errorf("make PID 1 non-dumpable: %w", err)
		}
	}
	if err := sys.SetName(probe.Comm); err != nil {
		return fmt.Errorf("name PID 1: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0); err != nil {
		return fmt.Errorf("die with the supervisor: %w", err)
	}
	// The supervisor has closed what it inherited; this is the second look.
	if !mutated("fds") {
		if err := unix.CloseRange(controlFD+1, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
			return fmt.Errorf("close inherited descriptors: %w", err)
		}
	}
	// Handlers, not SIG_IGN: an ignored signal would stay ignored in the agent.
	signal.Notify(received, handled...)
	return nil
}

func receivePlan(conn *wire.Conn) (*plan.Plan, error) {
	b, err := conn.ReceivePlan()
	if err != nil {
		return nil, err
	}
	return plan.Decode(b)
}

// handWatch gives the keeper what it works with.
func handWatch(conn *wire.Conn, r raised) error {
	if r.watch == nil {
		return nil
	}
	m, fds := wire.Message{Kind: wire.Watch, Ports: []string{watchStep}}, []int{int(r.watch.Fd())}
	for i, fd := range r.layers {
		if fd >= 0 {
			m.Ports, fds = append(m.Ports, strconv.Itoa(i)), append(fds, fd)
		}
	}
	if err := conn.Send(m, fds...); err != nil {
		return &step{watchStep, err}
	}
	r.watch.Close()
	for _, fd := range fds[1:] {
		unix.Close(fd)
	}
	return nil
}

// confirm reports what the walls look like from inside and waits for the
// supervisor, who looks at the same from outside, to say go.
func confirm(conn *wire.Conn, p *plan.Plan, r raised) error {
	m := wire.Message{Kind: wire.Walls, Evidence: observe(p), Keyring: r.keyring}
	var fds []int
	for _, port := range r.ports {
		m.Ports, fds = append(m.Ports, port.name), append(fds, port.fd)
	}
	if r.sentry != nil {
		m.Ports, fds = append(m.Ports, wire.SentryPort), append(fds, int(r.sentry.Init.Fd()))
	}
	if err := conn.Send(m, fds...); err != nil {
		return &step{"confirm", err}
	}
	// From here they are the supervisor's alone: when it is gone, nothing listens.
	for _, port := range r.ports {
		unix.Close(port.fd)
	}
	if r.sentry != nil {
		return nil // PID 1 on the sentry's kernel waits for the word
	}
	m, _, err := conn.Receive()
	if err != nil {
		return &step{"confirm", err}
	}
	if m.Kind != wire.Go {
		return &step{"confirm", fmt.Errorf("expected go, got %q", m.Kind)}
	}
	return nil
}

func has(p *plan.Plan, w plan.Wall) bool { return slices.Contains(p.Walls, w) }
