// Package session is where the parts meet: what the user asked for, policy, agent and
// host become a plan; the plan becomes a session; the session leaves a result.
package session

import (
	"os"
	"runtime"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/hostfacts"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
	"ringfence.dev/ringfence/internal/state"
	"ringfence.dev/ringfence/internal/workspace/review"
)

// Hostname is the name of every sandbox.
const Hostname = "ringfence"

// Options is what the user asked for.
type Options struct {
	Agent      string   // a profile's name
	Args       []string // the command, or the agent's own arguments
	Dir        string   // where the user stands
	Workspaces []string // PATH[:ro]; empty: the directory or its repository
	Flags      *policy.Policy
	Env        []string // --env
	ForceEnv   []string // --force-env
	Environ    []string // the launcher's environment
	// Binds are further read-only mounts that ringfence itself needs inside.
	Binds []plan.Mount
	// NoProject leaves the project's own policy out.
	NoProject bool
	// Passing keeps no state: what would be kept is private and gone at the end.
	Passing bool
	// Clone works in a clone of the repository.
	Clone bool
	// PolicyFile is read in the place of the user's own; "" reads that.
	PolicyFile string
	// Look prepares to be looked at only: nothing is made on the host.
	Look bool
	// Server is the name of the MCP server that this session is; "" for an agent.
	Server string
	// Learn notes what is asked for and not there, and lets unknown public hosts be
	// reached; `ringfence learn` alone sets it.
	Learn bool
	// Name is what the user calls the session; it may be empty.
	Name string
	// Version is that of ringfence, for the journal.
	Version string
	// Keep lets what is known of the session stay after its end.
	Keep bool
}

// Session is a prepared session: everything is decided and nothing has happened.
type Session struct {
	ID         string
	Name       string // that the user gave; may be empty
	Plan       *plan.Plan
	Policy     *policy.Policy
	bare       *policy.Policy  // what holds without the project's file
	Ignored    []policy.Change // widenings of an untrusted project file
	Env        environ.Environment
	Profile    *agent.Profile
	Workspaces []Workspace
	Repo       *repo.Repo
	User       plan.User
	Facts      hostfacts.Facts
	Limits     cgroup.Limits
	Warnings   []string // what the user should know in any case
	Notices    []string // what the user should know before the agent starts
	Note       string   // what the agent is told
	Dropped    []string // PATH entries that stay outside, with the reason
	Untrusted  Untrusted

	Reach policy.Reach // what of the network is there
	Keys  []string     // what the broker uses, and by whose word: for people

	broker   *broker.Broker // nil: the network is closed
	brokered brokered
	lure     *lure // nil: there are no decoys
	mcp      serving

	work                *review.Work // what it does to the trees of the host
	trees               []tree
	undoFile, undoTotal int64
	passing             bool
	masking             masking
	reveals             []reveal
	clones              string // the repository that the session works in a clone of

	asked    Options // what it was prepared from
	envInput environ.Input
	forged   []string // hosts to which the broker speaks git

	dirs     state.Dirs
	ceiling  *policy.Policy
	upstream *gate.Upstream
	resolver gate.Resolver // nil: the host's
	dial     gate.Dial     // nil: on the host's network
	project  *state.Project
	witness  func(int, rung.Evidence) error
	lesson   *pupil // nil: nothing is learnt from it
}

// draft is a session while it is being prepared.
type draft struct {
	*Session
	opt       Options
	mounts    []plan.Mount
	masks     []plan.Mask
	files     []plan.File
	links     []plan.Link
	capture   *plan.Capture
	state     []stateItem
	pinned    []string // paths that rules of the user name
	grantDirs []string // directories that grants of the user show
	watch     []byte
	filter    []byte
	path      string // PATH inside
	base      []policy.Setting
	argv      []string
	dir       string

	remember      []func() error // written with the project's state
	npmrc         []string
	secretHomes   []*home  // hosts of secrets
	signKey       string   // the file of the key that signs; may be none
	rewrites      []string // lead remotes to the broker
	forgePhantoms map[address.Name]broker.Phantom
	keptSecrets   map[string]*keptSecret

	modelArgs []string                  // lead the agent to the broker
	overlays  map[string]map[string]any // so do these keys of its settings files
}

// Prepare decides everything about a session. It starts nothing and writes
// nothing but the project's own state directory.
func Prepare(opt Options) (*Session, error) {
	if !opt.Look {
		go journal.WarmSeal() // for the journal
	}
	d := &draft{Session: &Session{ID: state.NewID(), Name: opt.Name, passing: opt.Passing, asked: opt}, opt: opt}
	for _, step := range []func() error{
		d.who, d.where, d.rules, d.enforceable, d.facts, d.profile, d.models, d.servers, d.services, d.forges, d.shutOff, d.commons, d.program, d.network, d.toolchains, d.git, d.makeBroker, d.grants, d.hideSources, d.maskSecrets, d.pretrust, d.keepTrees, d.keepState,
		d.note, d.hooks, d.brakes, d.decoys, d.environment, d.placeState, d.layDecoys, d.stillHidden, d.makePlan, d.learn,
	} {
		if err := step(); err != nil {
			d.Close()
			return nil, err
		}
	}
	return d.Session, nil
}

// Environment prepares only as far as the environment, for an audit. It may
// return both an environment and the error that would stop a launch.
func Environment(opt Options) (environ.Environment, error) {
	d := &draft{Session: &Session{ID: state.NewID()}, opt: opt}
	for _, step := range []func() error{d.who, d.where, d.rules, d.profile, d.toolchains, d.git, d.environment} {
		if err := step(); err != nil {
			return d.Env, err
		}
	}
	return d.Env, nil
}

// Look prepares only as far as policy.
func Look(opt Options) (*Session, error) {
	d := &draft{Session: &Session{}, opt: opt}
	for _, step := range []func() error{d.who, d.where, d.rules} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return d.Session, nil
}

func (d *draft) getenv(name string) string {
	for _, e := range d.opt.Environ {
		if len(e) > len(name) && e[:len(name)] == name && e[len(name)] == '=' {
			return e[len(name)+1:]
		}
	}
	return ""
}

// Nested reports whether we run inside a sandbox of our own.
func Nested() bool {
	_, err := os.Lstat(NotePath)
	return err == nil
}

func (d *draft) notice(s string) { d.Notices = append(d.Notices, s) }

func (d *draft) who() error {
	if err := state.CheckName(d.Name); err != nil {
		return err
	}
	if Nested() {
		return fault.New(fault.Refused, "ask the human outside to widen this session's policy", "this is the inside of a ringfence sandbox: no second one can be made here")
	}
	var err error
	if d.User, err = currentUser(d.getenv); err != nil {
		return err
	}
	d.dirs, err = state.XDG(d.getenv, d.User.Home)
	return err
}

// facts asks what this host can enforce, and refuses if a wall is not among it. Namespaces are not asked about: making them is the launch.
func (d *draft) facts() error {
	d.Facts = hostfacts.Quick()
	if d.Facts.Landlock < 1 {
		reason, fix := hostfacts.Diagnose(string(plan.WallLandlock), d.Facts.Calls.Landlock.Errno(), d.Facts)
		return fault.New(fault.Refused, fix, "wall landlock cannot be raised: %s", reason)
	}
	d.witness = witness(plan.AllWalls())
	return nil
}

func (d *draft) makePlan() error {
	filter, err := seccomp.Filter(runtime.GOARCH)
	if err != nil {
		return err
	}
	d.dropCoveredLinks()
	lim := d.Policy.Limits
	d.Limits = d.bounds()
	d.Plan, err = plan.Make(plan.Input{
		Session: d.ID, Hostname: Hostname, User: d.User, Walls: plan.AllWalls(), ABI: d.Facts.Landlock, Seccomp: filter,
		System: systemNodes(), Mounts: d.mounts, Masks: d.masks, Files: d.files, Links: d.links,
		Sizes:   plan.Sizes{Tmp: value(lim.Tmp), Home: value(lim.Home), Shm: value(lim.Shm), Run: runSize},
		Limits:  plan.Limits{Pids: uint64(value(lim.Pids)), Open: uint64(value(lim.Open))},
		Capture: d.capture, Watch: d.watch, Observe: d.opt.Learn, Filter: d.filter,
		Process: plan.Process{Argv: raws(d.argv), Env: raws(d.Env.Environ()), Dir: plan.Raw(d.dir),
			Umask: uint32(umask())},
	})
	if err != nil {
		return err
	}
	d.coverLayers()
	mutate(d.Session, d.opt.Environ)
	return nil
}

// dropCoveredLinks leaves out a link where a mount already shows what is there.
func (d *draft) dropCoveredLinks() {
	d.links = slices.DeleteFunc(d.links, func(l plan.Link) bool {
		return slices.ContainsFunc(d.mounts, func(m plan.Mount) bool { return file.Within(l.At, m.Dst) })
	})
}

const runSize = 64 << 20

func value(l *policy.Limit) int64 {
	if l == nil {
		return 0
	}
	return l.Value
}

func raws(in []string) []plan.Raw {
	out := make([]plan.Raw, len(in))
	for i, s := range in {
		out[i] = plan.Raw(s)
	}
	return out
}
