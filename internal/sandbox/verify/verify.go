// Package verify proves that the walls stand, on the machine and for the user
// that asks. Canaries are planted on the host; the battery of probes runs outside,
// where each must reach its canary (a check that cannot fail proves nothing), and
// then inside a throw-away sandbox, where none may; what can be seen of the sandbox
// from outside must agree. How a sandbox is made is the caller's to say.
//
// The network is proved in a second sandbox, whose gate leads to a world of canaries
// instead of to the host's network. Its control is a network namespace without walls.
//
// Left at risk: a wall can fall after the proof, and a probe tries the ways it
// knows. The attack suite of this repository tries more of them.
package verify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
)

// Config says what to verify.
type Config struct {
	Self    string   // the ringfence executable, which answers to probe.Arg
	Home    string   // the user's home directory
	State   string   // ringfence's state directory, where most canaries are planted
	Environ []string // the launcher's environment
	// What policy lets in by name is not looked for. Its check is waived then,
	// because it proves less than it says.
	Shown  []string // paths in the view
	Passed []string // names in the environment
	Launch Launch
	Rung   Rung
	Step   func(n int) // is told how many of Steps are done; may be nil
}

// Rung is the place whose walls are proved.
type Rung struct {
	Name    string
	Witness string // who looks from outside
	// Weaker says of checks that hold what holds them here, where that is less than the
	// wall that they are named for.
	Weaker map[string]string
	// Leaves says of checks that only some rungs claim why this one does not.
	Leaves map[string]string
	// Word says whose word the walls are, where nothing of this machine sees them; "": they
	// are seen.
	Word   string
	Review bool          // no change reaches the host before it is applied
	Built  bool          // the view is made by somebody else
	Slow   time.Duration // how much longer than on the host's kernel a start may take
}

// Launch runs a job in a sandbox and returns when the sandbox has ended. It is
// called on a thread that carries a canary in its session keyring and must make
// the sandbox from that thread, as it does if it does not leave the goroutine.
type Launch func(ctx context.Context, job Job) (Seen, error)

// Job is what is to run inside.
type Job struct {
	Argv      []string   // begins with Self
	Self      string     // the executable, to be visible inside under this name
	Stdin     []byte     // goes to the command
	Env       []string   // the launcher's environment, canaries included
	ExtraFDs  []*os.File // open in this process and inheritable, as a careless launcher leaves them
	Workspace string
	Scratch   string // a directory for what a session records; it is gone at the end
	Gate      *Gate  // nil: the network leads nowhere
	// Link stands in the way between the supervisor and a far end, where the rung has one; a
	// rung without one launches nothing then. nil: nobody does.
	Link func(io.ReadWriteCloser) io.ReadWriteCloser
	// Running is called when the command runs, before Stdin goes to it.
	Running func()
	// Ended is called when the session has ended and what applies by itself has been
	// applied, before anything of it is forgotten.
	Ended func(Left)
}

// Left is what a session left.
type Left struct {
	// Undo takes back what the session did to the workspace, and returns the paths of it
	// that it left alone.
	Undo  func() (left []string, err error)
	Layer string // where changes of the workspace wait
}

// Gate is what the gate of a job's sandbox leads to, instead of to the world.
type Gate struct {
	Allow []string // rules about hosts: these, and no others
	// Brokered is an allowed host that the session's broker keeps for itself, Decoy
	// a decoy that must not leave.
	Brokered, Decoy string
	Lookup          func(name string) ([]netip.Addr, error)
	Dial            func(ctx context.Context, to netip.AddrPort) (*net.TCPConn, error)
	// Ready is called before the command runs, with the name of the session's
	// control socket, without the NUL, and with what ends the gate. It returns what
	// goes to the command in the place of Stdin.
	Ready func(control string, shut func()) ([]byte, error)
}

// NoNetwork is the error of a launch with a gate where policy gives no network. The
// job ran all the same, in a sandbox without one.
type NoNetwork struct{ Why string }

func (e *NoNetwork) Error() string { return "there is no network to prove: " + e.Why }

// Seen is what came out of a sandbox and what was seen of it from outside, while
// it ran.
type Seen struct {
	Stdout []byte
	// Outside is what the rung's witness saw, as rung.Seen has it. What is not there
	// nobody saw.
	Outside map[string]string
	// Keyring is the serial number of the session keyring from which the agent
	// was started, if the inside stage told it; else 0.
	Keyring int
	// Place is what was seen from this machine of the place where a far end is.
	Place map[string]string
}

// patience bounds each of the runs; a probe that hangs has not answered.
const patience = time.Minute

// within is patience for so many starts.
func (c Config) within(starts int) time.Duration {
	return patience + time.Duration(starts)*c.Rung.Slow
}

// Run makes the proof. Where the sandbox could not be made at all, it returns both
// a report in which nothing holds and the reason.
func Run(ctx context.Context, c Config) (Report, error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	type outcome struct {
		report Report
		err    error
	}
	done := make(chan outcome)
	go func() {
		// A thread of its own, which ends with the proof, and with it the keyring
		// that holds a canary.
		runtime.LockOSThread()
		r, err := c.prove(ctx)
		done <- outcome{r, err}
	}()
	o := <-done
	return o.report, o.err
}

// Steps is how many Step is told of.
const Steps = 4

func (c Config) step(n int) {
	if c.Step != nil {
		c.Step(n)
	}
}

func (c Config) prove(ctx context.Context) (Report, error) {
	p, err := plantCanaries(c)
	defer p.remove()
	if err != nil {
		return Report{}, err
	}
	j := judge{plant: p, rung: c.Rung, tries: p.attempts()}
	// The control of the network runs meanwhile, in a namespace of its own.
	netControl := c.netControl(ctx, p, j.tries)
	if j.host.control, err = c.control(ctx, p); err != nil {
		netControl()
		return Report{}, interrupted(ctx, fmt.Errorf("control outside: %w", err))
	}
	c.step(1)
	p.connections() // what the control made
	if err := p.controlTrees(ctx, j.host.control); err != nil {
		netControl()
		return Report{}, interrupted(ctx, fmt.Errorf("control outside: %w", err))
	}
	j.host.inside, j.host.seen, j.host.launch = c.inside(ctx, p)
	c.step(2)
	j.connections = p.connections()
	j.net.inside, j.net.seen, j.net.launch = c.netInside(ctx, p, j.tries)
	c.step(3)
	if errors.As(j.net.launch, &j.closed) {
		j.net.launch = nil
	}
	j.net.control, j.net.controlled = netControl()
	if j.host.launch == nil {
		c.proveMachine(p, j.host)
	}
	if j.host.launch == nil && j.closed == nil {
		c.proveLink(ctx, p, j.host.control, j.host.inside)
	}
	if err = j.host.launch; err == nil {
		err = j.net.launch
	}
	return j.report(), interrupted(ctx, err)
}

// interrupted says so where an error only follows from a signal.
func interrupted(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return fault.New(fault.Failed, "", "verify was interrupted: %w", errors.Join(context.Cause(ctx), err))
	}
	return err
}

// control runs the battery outside, started as the sandbox will be.
func (c Config) control(ctx context.Context, p *plant) (map[string]probe.Result, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	target, err := json.Marshal(p.target(p.stand.Process.Pid, p.own))
	if err != nil {
		return nil, fmt.Errorf("encode target: %w", err)
	}
	argv := p.asks(c.Self)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout = p.environ, p.workspace, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("%q: %w", c.Self, err)
	}
	seen := p.runsHere()
	_, err = in.Write(target)
	in.Close()
	if err := errors.Join(cmd.Wait(), err); err != nil {
		return nil, fmt.Errorf("%q: %w", c.Self, err)
	}
	results, err := probe.DecodeAnswer(&out, probe.Names())
	if err == nil && !seen {
		results["kernel"] = probe.Result{Name: "kernel", Detail: "the witness does not see the process that asks"}
	}
	return results, err
}

// inside runs the battery in a sandbox.
func (c Config) inside(ctx context.Context, p *plant) (map[string]probe.Result, Seen, error) {
	ctx, cancel := context.WithTimeout(ctx, c.within(1))
	defer cancel()
	t := p.target(1, plan.Own)
	t.Review, t.Built = c.Rung.Review, c.Rung.Built
	target, err := json.Marshal(t)
	if err != nil {
		return nil, Seen{}, fmt.Errorf("encode target: %w", err)
	}
	seen, err := c.Launch(ctx, Job{Argv: p.asks(c.Self), Self: c.Self, Stdin: target,
		Env: p.environ, ExtraFDs: p.leaked, Workspace: p.workspace, Scratch: p.state,
		Running: func() { here := p.runsHere(); p.asked = &here },
		Ended:   func(left Left) { p.end = p.ended(ctx, left, c.Rung.Review) }})
	if err != nil {
		return nil, Seen{}, err
	}
	results, err := probe.DecodeAnswer(bytes.NewReader(seen.Stdout), probe.Names())
	return results, seen, err
}
