// Package session is where the parts meet: what the user asked for, policy, agent and
// host become a plan; the plan becomes a session; the session leaves a result.
package session

import (
	"runtime"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/rung"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
	"ringfence.dev/ringfence/internal/state"
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
	Base
	Plan     *plan.Plan
	Env      environ.Environment
	Limits   cgroup.Limits
	Warnings []string // what the user should know in any case
	Notices  []string // what the user should know before the agent starts
	Note     string   // what the agent is told
	Dropped  []string // PATH entries that stay outside, with the reason
	Trees    Trees
	Keys     []string // what the broker uses, and by whose word: for people

	broker   *broker.Broker // nil: the network is closed
	brokered brokered
	lure     *lure // nil: there are no decoys
	mcp      serving

	envInput environ.Input
	upstream *gate.Upstream
	resolver gate.Resolver // nil: the host's
	dial     gate.Dial     // nil: on the host's network
	project  *state.Project
	witness  func(int, rung.Evidence) error
	lesson   *pupil // nil: nothing is learnt from it
}

// Prepare decides everything about a session. It starts nothing and writes
// nothing but the project's own state directory.
func Prepare(opt Options) (*Session, error) {
	if !opt.Look {
		go journal.WarmSeal() // for the journal
	}
	b, err := decideLaunch(opt)
	if err != nil {
		return nil, err
	}
	all, err := prepareParts(b, parts())
	if err != nil {
		return nil, err
	}
	return compose(b, all)
}

// Environment prepares only what makes the environment, for an audit. It may
// return both an environment and the error that would stop a launch.
func Environment(opt Options) (environ.Environment, error) {
	b, err := decide(opt)
	if err == nil {
		err = b.describe()
	}
	if err != nil {
		return environ.Environment{}, err
	}
	all, err := prepareParts(b, []part{partOf("toolchains"), partOf("git")})
	if err != nil {
		return environ.Environment{}, err
	}
	env, _, _, err := environment(&b, all.total())
	return env, err
}

// Look prepares only as far as policy.
func Look(opt Options) (*Session, error) {
	b, err := decide(opt)
	if err != nil {
		return nil, err
	}
	return &Session{Base: b, Warnings: b.said.warnings}, nil
}

// compose makes a session of what its parts add.
func compose(b Base, all sum) (*Session, error) {
	s := &Session{Base: b, witness: witness(plan.AllWalls())}
	for _, l := range looks() {
		c, err := l.prepare(s, all.total())
		if err != nil {
			s.Close()
			return nil, err
		}
		all[l.name] = c
	}
	if err := s.finish(all.total()); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// finish makes the plan.
func (s *Session) finish(total Contribution) error {
	s.Warnings, s.Notices, s.Keys, s.Dropped = total.warnings, total.notices, total.keys, total.dropped
	s.view.mounts, s.view.masks = total.mounts, total.masks
	if err := stillHidden(s.Base, total); err != nil {
		return err
	}
	filter, err := seccomp.Filter(runtime.GOARCH)
	if err != nil {
		return err
	}
	if err := s.Trees.keep(s.Base, &total); err != nil {
		return err
	}
	calls, err := watchedCalls(s.Trees.Any(), s.viewOf() == plan.Review, s.asked.Learn)
	if err != nil {
		return err
	}
	lim := s.Policy.Limits
	s.Limits = bounds(s.Base.law)
	s.Plan, err = plan.Make(plan.Input{
		Session: s.ID, Hostname: Hostname, User: s.User, Walls: plan.AllWalls(), ABI: s.Facts.Landlock, Seccomp: filter,
		System: systemNodes(), Mounts: total.mounts, Masks: total.masks, Files: total.files, Links: total.shownLinks(),
		Sizes:   plan.Sizes{Tmp: lim.Tmp.Number(), Home: lim.Home.Number(), Shm: lim.Shm.Number(), Run: runSize},
		Limits:  plan.Limits{Pids: uint64(lim.Pids.Number()), Open: uint64(lim.Open.Number())},
		Capture: total.capture, Watch: calls.watch, Observe: s.asked.Learn, Filter: calls.filter,
		Process: plan.Process{Argv: raws(total.command.argv(total.args)), Env: raws(s.Env.Environ()), Dir: plan.Raw(s.dir),
			Umask: uint32(umask())},
	})
	if err != nil {
		return err
	}
	if err := s.Trees.coverLayers(s.Plan); err != nil {
		return err
	}
	mutate(s, s.asked.Environ)
	s.learn()
	return nil
}

// calls are those of the sandbox that are looked at, in programs of seccomp.
type calls struct{ watch, filter []byte }

func watchedCalls(trees, reviewed, learns bool) (c calls, err error) {
	switch {
	case trees && reviewed:
		if c.filter, err = seccomp.Review(runtime.GOARCH); err == nil && learns {
			c.watch, err = seccomp.Learn(runtime.GOARCH, false)
		}
	case learns:
		c.watch, err = seccomp.Learn(runtime.GOARCH, trees)
	default:
		c.watch, err = seccomp.Watch(runtime.GOARCH)
	}
	return c, err
}

const runSize = 64 << 20

func raws(in []string) []plan.Raw {
	out := make([]plan.Raw, len(in))
	for i, s := range in {
		out[i] = plan.Raw(s)
	}
	return out
}

func lookMasks(s *Session, total Contribution) (Contribution, error) {
	return s.Trees.mask(s.Base, total)
}
func lookTrust(s *Session, total Contribution) (Contribution, error) {
	return s.Trees.pretrust(s.Base, total)
}

// Shown remembers that the findings were shown: a person is stopped once by them.
func (s *Session) Shown() error { return s.Trees.Untrusted.Shown(s.person) }

func lookBroker(s *Session, total Contribution) (out Contribution, err error) {
	s.upstream, s.brokered, s.lure, s.mcp.offered = total.upstream, total.brokered, total.lure, total.offered
	s.broker, out, err = connect(&s.Base, total)
	return out, err
}

func lookEnvironment(s *Session, total Contribution) (out Contribution, err error) {
	s.Env, s.envInput, out, err = environment(&s.Base, total)
	return out, err
}

func lookState(s *Session, total Contribution) (out Contribution, err error) {
	s.project, out, err = placeState(s.Base, total)
	return out, err
}

func lookDecoys(s *Session, total Contribution) (Contribution, error) {
	return layDecoys(s.Base, total), nil
}

// Close lets go of the project's state.
func (s *Session) Close() error {
	if s.project == nil {
		return nil
	}
	return s.project.Close()
}
