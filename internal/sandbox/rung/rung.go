// Package rung says what a place where walls stand must offer, and nothing of how
// any of them does it.
package rung

import (
	"os"
	"syscall"
)

// Stdio is what the agent gets for its three descriptors. Where the plan says
// that one is a terminal, the file here is not used for it.
type Stdio struct {
	In, Out, Err *os.File
	// Terminal takes the supervisor's end of the agent's terminal, before the
	// agent runs, if any descriptor is one. Where resize is not nil it is a stream, and
	// resize sets the size of the terminal.
	Terminal func(master *os.File, resize func(rows, cols uint16)) error
	// Stopped is called when the agent was stopped, as by Ctrl-Z. The agent
	// goes on when Signal(SIGCONT) says so.
	Stopped func()
}

// Exit is how the agent ended.
type Exit struct {
	Status syscall.WaitStatus
	// Killed is set when the sandbox itself was killed and no status came out.
	Killed bool
}

// Code is the status that a shell would show.
func (e Exit) Code() int {
	switch {
	case e.Killed:
		return 128 + int(syscall.SIGKILL)
	case e.Status.Signaled():
		return 128 + int(e.Status.Signal())
	default:
		return e.Status.ExitStatus()
	}
}

// Observation is what one probe inside saw at launch.
type Observation struct {
	Probe  string
	Open   bool
	Detail string
}

// Evidence is what was seen from inside, after the last wall and before the agent.
type Evidence struct {
	Probes  []Observation
	Keyring int // serial of the session keyring that the agent starts with
}

// Port is a socket of the sandbox's network at which the gate stands.
type Port struct {
	Name string // as the plan's capture has it
	File *os.File
}

// Command is what runs beside an agent.
type Command struct {
	Argv       []string
	Env        []string    // NAME=VALUE, instead of what the agent has of that name
	Dir        string      // empty: the agent's
	TTY        uint8       // bit n: descriptor n is a terminal of the sandbox's own
	Rows, Cols uint16      // of that terminal
	Files      [3]*os.File // not used where TTY says so, and there all the same
}

// Process is one that runs beside an agent.
type Process interface {
	// Terminal is our end of its terminal, the caller's to close; nil if it has none. It
	// may be a stream; then Resize sets the size.
	Terminal() *os.File
	Resize(rows, cols uint16) error
	Signal(sig syscall.Signal) error
	// Wait blocks until it has ended, with the sandbox at the latest.
	Wait() Exit
}

// Sandbox is a running one.
type Sandbox interface {
	// PID is the host's number of the first process inside.
	PID() int
	// Evidence is what was seen from inside at launch.
	Evidence() Evidence
	Wait() (Exit, error)
	Signal(sig syscall.Signal) error
	// Socket returns a new TCP socket of the sandbox's network, not connected.
	Socket(ipv6 bool) (*os.File, error)
	// Exec starts a command beside the agent, behind the same walls.
	Exec(c Command) (Process, error)
	// Close ends everything inside; it may be called more than once.
	Close() error
}
