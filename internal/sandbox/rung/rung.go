// Package rung says what a place where walls stand must offer, and nothing of how
// any of them does it.
package rung

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Rung is one step of the ladder: a place and the walls in it.
type Rung interface {
	Name() string
	// Offer is what it holds where it can be had. It costs nothing and tries nothing.
	Offer() Offer
	// Try finds out whether it can be had on this machine, and says what would help.
	Try(ctx context.Context) []hostfacts.Result
	// Start raises all walls of the plan and starts the agent, or returns an error with
	// nothing left behind. It never raises fewer walls than planned. The calling goroutine
	// must be locked to its thread, and that thread must live as long as the sandbox.
	Start(ctx context.Context, p *plan.Plan, h Hooks) (Sandbox, error)
}

// Housed is a rung whose place is some program's.
type Housed interface {
	Rung
	// House is the name of the program, for people; "" where it does not answer.
	House(ctx context.Context) string
}

// Furnished is a rung that can have an operating system of its own.
type Furnished interface {
	Rung
	// Userland is what the place has; nil: what this machine has. It may need a directory
	// of ours for a while.
	Userland(ctx context.Context, dir string) (*Userland, error)
}

// Seeking is a rung that runs a program of this machine.
type Seeking interface {
	Rung
	// Seeks is the same rung with a way to find it: none that an agent can have written.
	Seeks(find func(name string) (string, error)) Rung
}

// Linked is a rung whose sandboxes stand at a far end, behind a link.
type Linked interface {
	Rung
	// Through is the same rung with something in the way between the two ends.
	Through(between func(io.ReadWriteCloser) io.ReadWriteCloser) Rung
}

// NoLink is why a rung leaves the checks of a link.
const NoLink = "on this rung the supervisor holds the sandbox's own sockets"

// Userland is what a place has of an operating system.
type Userland struct {
	Name   string // for people and the record
	Path   string // where its programs are
	System []plan.Node
	// Machine is whose kernel that is, where it is another than this one's; nil: it is not.
	Machine *Machine
}

// Machine is another machine, by its own word.
type Machine struct {
	Arch     string // as Go calls it
	Kernel   string
	Landlock int // version; 0: none
}

// Who raises a wall.
type Who string

// Those who do. A wall that nobody raises is missing, and said to be.
const (
	Ours   Who = "ours"   // the first process inside raises it, as the plan says
	Place  Who = "place"  // the rung's own, proved by its effect
	Nobody Who = "nobody" // this rung cannot have it
)

// Offer is what a rung holds.
type Offer struct {
	Level  string               // of the ladder of postures
	Kernel string               // whose kernel answers the agent, for people
	Adds   string               // what it has that the rung below has not, for people
	Lacks  string               // what it has not, for people; may be empty
	Walls  map[plan.Wall]Who    // every wall has its entry
	Why    map[plan.Wall]string // of those that nobody raises: what stands instead
	Views  []plan.View          // of a workspace; the first is the usual one
	// Weaker says of checks of verify that hold here what holds them, where that is less
	// than the wall that they are named for.
	Weaker map[string]string
	// Leaves says of checks of verify that only some rungs claim why this one does not. Of
	// any other check nobody listens to it.
	Leaves map[string]string
	// NoInner says why no agent's own sandbox can be made here although the kernel is not the
	// host's; "" where no more than the walls is in its way.
	NoInner string
	Less    string           // what a person chose to have less of, for people; told wherever the rung is
	Witness string           // who looks from outside, for people
	Word    string           // whose word the walls are, where nothing of this machine sees them; see verify
	Forgets bool             // what an agent keeps for itself goes with the session: no posture chooses that for a person
	Images  bool             // it can have the programs of an image; see Furnished
	Slow    time.Duration    // how much longer than on the host's kernel a start may take
	Limits  cgroup.Mechanism // what enforces the session's limits; "": whatever the host lends
}

// Title is the name of a rung for people and for the record, with what a person chose to have
// less of.
func Title(r Rung) string {
	if less := r.Offer().Less; less != "" {
		return r.Name() + ", " + less
	}
	return r.Name()
}

// Raised lists the walls that somebody raises, in the order of launch.
func (o Offer) Raised() (out []plan.Wall) {
	for _, w := range plan.AllWalls() {
		if o.Walls[w] != Nobody {
			out = append(out, w)
		}
	}
	return out
}

// Hooks are what the supervisor does while a sandbox starts. All are called before the
// agent runs. One that is nil does nothing.
type Hooks struct {
	Stdio Stdio
	// Dir is a directory of the session's state, which no agent reaches.
	Dir string
	// Limits are those that the rung enforces, where its Offer says so.
	Limits cgroup.Limits
	// Within runs the fork such that the process is under the session's cgroup limits
	// from birth; it hands over the descriptor of a group, or -1. Join does what has to
	// wait until the process is there.
	Within func(fork func(group int) error) error
	Join   func(pid int) error
	// Keep takes what the keeper needs; from then on it serves. It is needed where the
	// plan has trees.
	Keep func(Calls) error
	// Net takes the sandbox's network. It is needed where the plan captures one.
	Net func(Net) error
	// Witness has the last word: it looks at the walls from outside.
	Witness func(Seen) error
	// Judge refuses what must not go to another machine. A rung that sends files asks it of
	// each one as it lists them, with the bytes that its digest is taken of. May be nil.
	Judge Judge
	// KeepCut is how long a sandbox on another machine waits for a link that was lost, before
	// what it changed is left there. Negative: nothing is left of it.
	KeepCut time.Duration
	// Warn tells a person what goes wrong while the sandbox runs.
	Warn func(string)
}

// Judge is told the path of a file of this machine and how it begins, up to Judged bytes; of a
// link where it leads.
type Judge = func(path string, begins []byte, link bool) error

// Judged is how much of a file Judge sees: one byte more than anybody looks into.
const Judged = 1<<20 + 1

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

// Calls are the descriptors by which changes to the trees of the host are heard of and
// done. A tree whose layer could not be made has none.
type Calls struct {
	PID    int // of the first process inside
	Watch  *os.File
	Layers []*os.File
}

// Net is where the sandbox's network ends.
type Net interface {
	// Ports are the caller's to close.
	Ports() []Port
	// Dial connects to a server inside, on its own loopback, once the agent runs.
	Dial(port uint16) (Conn, error)
	// Listening lists the TCP ports at which somebody inside listens.
	Listening() []uint16
	// Datagrams lists where datagrams were to go that the network rejected, the first few
	// dozen. It is for the record, and may not know.
	Datagrams() []netip.AddrPort
	// Owner finds who made a connection, as it is called inside. It is for the record,
	// never for a verdict, and may not know.
	Owner(from, to netip.AddrPort) (pid int, command string)
	Close()
}

// Port is a place of the sandbox's network at which the gate stands. It has one of the two.
type Port struct {
	Name    string       // as the plan's capture has it
	Listen  net.Listener // its connections are Conn
	Packets Packets
}

// Close closes what it has.
func (p Port) Close() error {
	if p.Packets != nil {
		return p.Packets.Close()
	}
	return p.Listen.Close()
}

// Packets is a socket of datagrams, as *net.UDPConn is.
type Packets interface {
	ReadFromUDPAddrPort(b []byte) (n int, from netip.AddrPort, err error)
	WriteToUDPAddrPort(b []byte, to netip.AddrPort) (int, error)
	Close() error
}

// Conn is a connection of the sandbox's network.
type Conn interface {
	net.Conn
	CloseRead() error
	CloseWrite() error
	SetLinger(sec int) error // 0: Close resets it
	// Original is where it was going before it was turned to the gate.
	Original() (netip.AddrPort, error)
	// Sent is how long ago something was last sent on it.
	Sent() (ago time.Duration, known bool)
	// Unread ends it once what was sent on it is not taken for so long.
	Unread(most time.Duration)
	// Socket is the same as a socket of this kernel, for who relays by descriptors; nil:
	// it is none.
	Socket() *net.TCPConn
}

// Observation is what one probe inside saw at launch.
type Observation struct {
	Probe  string
	Open   bool
	Detail string
}

// Seen is what was seen of a sandbox after the last wall and before the agent.
type Seen struct {
	PID int // of the first process inside on this kernel; 0: it is none of this kernel's
	// Root opens the root that the agent has, while the sandbox is there; nil: nobody here can.
	Root    func() (*os.File, error)
	Probes  []Observation
	Keyring int // serial of the session keyring that the agent starts with
	// Outside is what the rung's witness saw: "ns.NAME" is the number of a namespace,
	// "status.FIELD" the kernel's account of the process that becomes the agent's
	// parent, "root" the kind of its root. What is not there, nobody saw. A witness on
	// another kernel says its own namespaces too: numbers of two kernels cannot be compared.
	Outside map[string]string
	// Word is set where Outside is what a far end says: nobody on this machine saw it.
	Word bool
	// Place is what was seen from this machine of the place where a far end is.
	Place   map[string]string
	Program *Program // what of others runs below the agent; the native rung has none
}

// Exit is how the agent ended.
type Exit struct {
	Status syscall.WaitStatus
	// Killed is set when the sandbox itself was killed and no status came out.
	Killed bool
	// Hit is what limits did that the rung enforces itself.
	Hit cgroup.Events
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

// Placed is what became of a file that was to be put into a layer.
type Placed uint8

// What can become of it.
const (
	Done     Placed = 1 + iota // it shows the new content
	NotThere                   // there is no such file
	TheirOwn                   // the layer has another than the host
	Fixed                      // a mount of the launch stands over it
)

// Sandbox is a running one.
type Sandbox interface {
	// PID is the host's number of the first process inside, whose root is the agent's;
	// 0: it is none of this kernel's.
	PID() int
	Wait() (Exit, error)
	Signal(sig syscall.Signal) error
	// Exec starts a command beside the agent, behind the same walls.
	Exec(c Command) (Process, error)
	// Freeze stops everything inside but what is ours; Thaw lets it go on.
	Freeze() error
	Thaw() error
	// Sync sees to it that what waits for review lies where the plan has the layers. It
	// does nothing where it is written there at once.
	Sync() error
	// Put writes a file of a layer as the sandbox sees it: into the layer, never through a
	// link. It makes none that is not there.
	Put(path string, data []byte) (Placed, error)
	// Close ends everything inside; it may be called more than once.
	Close() error
}
