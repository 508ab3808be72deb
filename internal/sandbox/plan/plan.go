// Package plan turns policy, agent and facts into a flat ordered list of
// operations before the first privileged act. Make is pure: it touches no file
// and starts no process, so that every decision can be tested and printed.
package plan

import "net/netip"

// Version is the version of the wire form that internal/sandbox/inside reads.
const Version = 2

// Plan is everything the inside stage does, in order, and nothing else.
type Plan struct {
	Version  int      `json:"version"`
	Session  string   `json:"session"`
	Hostname string   `json:"hostname"`
	UID      int      `json:"uid"`
	GID      int      `json:"gid"`
	Ops      []Op     `json:"ops"`
	Walls    []Wall   `json:"walls"`
	Limits   Limits   `json:"limits"`
	Landlock Landlock `json:"landlock"`
	Seccomp  []byte   `json:"seccomp"` // struct sock_filter[], native endian
	Process  Process  `json:"process"`
	Capture  *Capture `json:"capture,omitempty"` // nil: the network is closed
	Trees    []Tree   `json:"trees,omitempty"`   // what the keeper looks after; empty: there is none
	Watch    []byte   `json:"watch,omitempty"`   // the filter that calls the keeper
	Heard    []byte   `json:"heard,omitempty"`   // in the place of Seccomp where Watch is loaded, and only there
	Filter   []byte   `json:"filter,omitempty"`  // a further filter, of the review view
	Sentry   *Sentry  `json:"sentry,omitempty"`  // nil: the agent runs on the kernel of the host
	Built    bool     `json:"built,omitempty"`   // somebody else has built the view: it is compared with the operations
}

// Do names one kind of operation on the new root.
type Do string

// The operations. Each destination is an absolute path in the new root.
const (
	DoDir      Do = "dir"      // make a directory in our own tmpfs
	DoTmpfs    Do = "tmpfs"    // mount a sized tmpfs
	DoBind     Do = "bind"     // attach a source of the host
	DoLayer    Do = "layer"    // attach a source of the host under a private layer, to which every change goes
	DoCover    Do = "cover"    // attach a source of the host read-only, without the names that are hidden in it
	DoCache    Do = "cache"    // attach a private layer above directories that are ready, or a private directory alone
	DoFile     Do = "file"     // a generated file, read-only unless Write
	DoSymlink  Do = "symlink"  // a symlink in our own tmpfs
	DoDevice   Do = "device"   // attach one device node of the host
	DoPts      Do = "devpts"   // a devpts instance of our own
	DoProc     Do = "proc"     // a fresh proc of our own PID namespace
	DoMask     Do = "mask"     // hide a path that exists in an attached tree
	DoReadOnly Do = "readonly" // make our own tmpfs at Dst read-only
)

// Op is one operation.
type Op struct {
	Do     Do        `json:"do"`
	Dst    Raw       `json:"dst"`
	Src    Raw       `json:"src,omitempty"`   // bind, layer, cover, cache: host path; symlink: target
	Upper  Raw       `json:"upper,omitempty"` // layer, cache: where changes go
	Work   Raw       `json:"work,omitempty"`  // layer, cache: overlayfs' own, beside it
	Lower  []Raw     `json:"lower,omitempty"` // cache: host paths, the first on top
	Hide   []Raw     `json:"hide,omitempty"`  // cover: names below the source
	Data   []byte    `json:"data,omitempty"`  // file
	After  int       `json:"after,omitempty"` // file: how many bytes of it follow the plan; see Encode
	Mode   uint32    `json:"mode,omitempty"`  // dir, tmpfs, file
	Size   int64     `json:"size,omitempty"`  // tmpfs
	Write  bool      `json:"write,omitempty"` // bind, file: writable
	There  bool      `json:"there,omitempty"` // bind: the source is the place's own, not the host's; cache: all but what is below
	NoExec bool      `json:"noexec,omitempty"`
	ID     *Identity `json:"id,omitempty"`  // bind: what policy judged; another inode is refused
	Why    string    `json:"why,omitempty"` // for people: the rule that put it there
}

// Identity is the inode that was judged.
type Identity struct {
	Dev uint64 `json:"dev"`
	Ino uint64 `json:"ino"`
}

// Wall names one independent mechanism.
type Wall string

// The walls, in the order in which they are raised.
const (
	WallUser      Wall = "user"
	WallMount     Wall = "mount"
	WallPID       Wall = "pid"
	WallIPC       Wall = "ipc"
	WallUTS       Wall = "uts"
	WallNet       Wall = "net"
	WallCgroup    Wall = "cgroup"
	WallKeyring   Wall = "keyring"
	WallNested    Wall = "nested" // no further user namespaces
	WallCaps      Wall = "caps"
	WallNoNewPriv Wall = "no-new-privs"
	WallLandlock  Wall = "landlock"
	WallSeccomp   Wall = "seccomp"
	WallTTY       Wall = "tty"
)

// AllWalls lists every wall in launch order.
func AllWalls() []Wall {
	return []Wall{WallUser, WallMount, WallPID, WallIPC, WallUTS, WallNet, WallCgroup,
		WallKeyring, WallNested, WallCaps, WallNoNewPriv, WallLandlock, WallSeccomp, WallTTY}
}

// Limits are the numbers inside sets as rlimits; cgroup limits are set outside.
type Limits struct {
	Pids uint64 `json:"pids,omitempty"`
	Open uint64 `json:"open,omitempty"`
	File uint64 `json:"file,omitempty"` // bytes of the largest file that may be written
}

// Landlock is the second opinion on the view: what may be written at all.
type Landlock struct {
	ABI   int   `json:"abi"`
	Write []Raw `json:"write"` // trees that may be changed
	Dev   []Raw `json:"dev"`   // device files that may be written and take ioctls
}

// Process is the command that runs inside.
type Process struct {
	Argv []Raw `json:"argv"`
	Env  []Raw `json:"env"`
	Dir  Raw   `json:"dir"`
	TTY  uint8 `json:"tty"` // bit n: descriptor n is a terminal

	Umask uint32 `json:"umask"`
}

// Capture is how the network of the sandbox ends at the gate: messages for the
// kernel, and sockets whose descriptors go to the supervisor.
type Capture struct {
	Routes [][]byte `json:"routes"` // rtnetlink messages: local default routes for v4 and v6
	Rules  []byte   `json:"rules"`  // one nftables batch
	Listen []Listen `json:"listen"`
	Gate   Gate     `json:"gate"`
	Veth   *Veth    `json:"veth,omitempty"` // nil: the agent uses this namespace's own network stack
}

// Gate is where the sockets of a capture are opened, one of each family.
type Gate struct {
	V4 netip.Addr `json:"v4"`
	V6 netip.Addr `json:"v6"`
}

// Veth joins the namespace of a capture with a further one, whose network stack is not the
// kernel's, by a pair of interfaces. All of it are rtnetlink messages.
type Veth struct {
	Pair  []byte   `json:"pair"`  // makes it; the far end is born in the namespace at FarFD
	Quiet []byte   `json:"quiet"` // either end makes up no address of IPv6
	Near  [][]byte `json:"near"`  // raise this end, for IPv4 and IPv6
	Far   [][]byte `json:"far"`   // the same for the other end, to be sent there
}

// VethMAC are the hardware addresses of the two ends, near and far. They tell them from any
// other interface: no maker has them.
var VethMAC = [2][6]byte{{2, 'r', 'f', 0, 0, 1}, {2, 'r', 'f', 0, 0, 2}}

// FarFD is the descriptor by which the kernel is told in which namespace the far end is.
const FarFD = 512 // above all that a capture opens

// Tree is a directory of the host in the live view: mounted read-only, and changed
// by the keeper on the agent's behalf.
type Tree struct {
	Path  Raw `json:"path"`            // the same inside and outside
	Layer Raw `json:"layer,omitempty"` // where its private layer is mounted, out of reach; empty: it has none
}

// Listen is one port of the gate.
type Listen struct {
	Name    string `json:"name"`
	Network string `json:"network"` // tcp, udp
	Port    int    `json:"port"`
}
