// Package policy says what may be seen, written, passed and reached. A policy is
// read from TOML in layers (built-in, user, flags; under the ceiling in /etc) and
// every rule remembers the file and line it came from.
package policy

import "strconv"

// Source is where a rule was written.
type Source struct {
	File string `json:"file"` // path, or "built-in", or "flag --ro"
	Line int    `json:"line,omitempty"`
}

// String is file:line, or the file alone where there are no lines. The name of a
// file is quoted when a terminal would not show it as it is.
func (s Source) String() string {
	name := printable(s.File)
	if s.Line == 0 {
		return name
	}
	return name + ":" + strconv.Itoa(s.Line)
}

// Rule is one value of a list with its source.
type Rule struct {
	Value  string `json:"value"`
	Source Source `json:"source"`
}

// Setting is one name and value with its source.
type Setting struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source Source `json:"source"`
}

// List is a list of rules. A nil List was not written; an empty, non-nil List
// was written and is empty, which tightens to nothing.
type List []Rule

// Policy is one layer, or the result of joining several.
type Policy struct {
	Workspace Workspace
	Files     Files
	Env       Env
	Network   Network
	Limits    Limits
	Rung      Rung
	Require   Require
	Broker    Broker
	Supply    Supply
	Tools     Tools
	Agent     Agent
	Project   Project
	Scan      Scan
	Secret    []Secret // in the order in which they were written
	MCP       []Server // the same
	Unnamed   *Rule    // what becomes of MCP servers that no table names, of unnamedWords; nil means none

	// Refused is what somebody asked for outright and the ceiling forbids. Only
	// Resolve fills it, and Check reports it.
	Refused []Problem
}

// Workspace is how the workspaces are shown, and what is kept of them. A nil field
// was not written.
type Workspace struct {
	Paths    List   // further workspaces besides the one the session starts in: PATH or PATH:ro
	View     *Rule  // "live" or "review"; nil means live
	Mask     List   // globs: further names of files that show phantom values
	Reveal   List   // paths or globs: files that are shown as they are, whatever masks them
	Undo     *Limit // bytes that are kept for undo in one session; 0 means nothing
	UndoFile *Limit // bytes of one file up to which it is kept
	// UndoTotal bounds what all sessions keep for undo. No project has a say in it: it
	// would have others' dropped.
	UndoTotal *Limit
}

// Files lists paths (absolute or ~/…, never globs) that join the view.
type Files struct {
	Read   List // visible read-only
	Write  List // visible read-write
	Mask   List // hidden: absolute, ~/…, or relative to the workspace
	Expose List // credentials of the catalogue that the user wants visible
}

// Env lists what joins the environment.
type Env struct {
	Pass  List      // names taken from the launcher's environment
	Set   []Setting // names with values; nil means not written
	Force List      // refused names (loader variables, secrets) that pass all the same
}

// Network is the posture of the network and what is told apart from it. Modes are
// ordered from tight to wide.
type Network struct {
	Mode      *Rule     // of modes; nil means not written
	Groups    List      // switches of named groups: +NAME and -NAME
	Allow     List      // hosts that can be reached, as address.ParseRule reads them
	Deny      List      // hosts that cannot, whatever allows them: NAME or NAME:PORT
	IP        List      // addresses that can be reached, as address.ParsePrefix reads them
	Publish   List      // ports of servers inside that the host's loopback shows: PORT or HOST:INSIDE
	HostPorts List      // ports of the host's loopback that can be reached inside
	Proxy     *Rule     // what the host's leg goes through: "none", "env" or a URL
	Budget    []Setting // hosts with the bytes that may be sent to each; nil means not written
}

// Limits bound what a session may use. A nil field was not written.
type Limits struct {
	Pids   *Limit // processes and threads
	Memory *Limit // bytes
	Share  *Limit // percent of the machine's memory, where Memory is not written
	Tmp    *Limit // bytes in /tmp
	Home   *Limit // bytes in the private HOME (what is not kept per project)
	Shm    *Limit // bytes in /dev/shm
	Open   *Limit // open files per process
}

// Limit is a number with its source.
type Limit struct {
	Value  int64  `json:"value"`
	Source Source `json:"source"`
}

// Flag is a switch with its source.
type Flag struct {
	Value  bool   `json:"value"`
	Source Source `json:"source"`
}

// Rung is where the walls stand.
type Rung struct {
	Use       *Rule // the name of a rung; nil means not written
	Runsc     *Rule // gVisor's program; nil means the one on PATH
	Engine    *Rule // the socket of the container engine; nil means the usual one
	Container *Rule // how a container is asked for; nil means as usual
	Image     *Rule // whose operating system a container has; nil means the host's
	RunscSum  *Rule // the SHA-256 that it must have; nil means any
	Network   *Rule // whose network stack there is on gVisor; nil means its own

	Qemu       *Rule  // the emulator of virtual machines; nil means the one on PATH
	Kernel     *Rule  // of a virtual machine; nil means the newest of this machine
	KernelSum  *Rule  // the SHA-256 that it must have; nil means any
	ModulesSum *Rule  // the one of its modules
	QemuSum    *Rule  // and of the emulator
	Accel      *Rule  // what makes its processor; nil means KVM
	Memory     *Limit // of a virtual machine, in bytes; nil means what is usual
	CPUs       *Limit // of a virtual machine
	Disk       *Limit // of a virtual machine, in bytes

	SSH  *Rule // the machine of the rung ssh, as ssh takes it; nil means none
	Keep *Rule // how long a session there waits for a lost link; nil means what is usual
}

// Require names what must stand for a launch to go ahead.
type Require struct {
	Rung   List // rungs, one of which must be used; nil means any
	Walls  List // names of walls; nil means all
	Limits List // limits that must be enforced ("pids", "memory"); nil means none
}

// Values are those of the list, without their sources.
func (l List) Values() []string {
	var out []string
	for _, r := range l {
		out = append(out, r.Value)
	}
	return out
}

// Text is the value; "" where there is no rule.
func (r *Rule) Text() string {
	if r == nil {
		return ""
	}
	return r.Value
}

// Number is the value; 0 where there is no limit.
func (l *Limit) Number() int64 {
	if l == nil {
		return 0
	}
	return l.Value
}
