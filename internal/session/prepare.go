// Package session is where the parts meet: what the user asked for, policy, agent and
// host become a plan. Package supervisor runs it.
package session

import (
	"slices"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/file/sys"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/network/upstream"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/seccomp"
	"ringfence.dev/ringfence/internal/session/history"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/lending"
	"ringfence.dev/ringfence/internal/session/trees"
	"ringfence.dev/ringfence/internal/state"
	"ringfence.dev/ringfence/internal/workspace/hostexec"
)

// Session is a prepared session: everything is decided and nothing has happened.
type Session struct {
	launch.Base
	Plan     *plan.Plan
	Env      environ.Environment
	Limits   cgroup.Limits
	Warnings []string // what the user should know in any case
	Notices  []string // what the user should know before the agent starts
	Note     string   // what the agent is told
	Dropped  []string // PATH entries that stay outside, with the reason
	Trees    *trees.Trees
	Keys     []string         // what the broker uses, and by whose word: for people
	Missing  []launch.Missing // what the project builds on and is not shown

	Broker   *broker.Broker // nil: the network is closed
	Brokered launch.Brokered
	Lure     *launch.Lure // nil: there are no decoys
	Offered  launch.Offered

	sight    lending.Sight
	envInput environ.Input
	Upstream *upstream.Proxy
	Resolver gate.Resolver // nil: the host's
	Dial     gate.Dial     // nil: on the host's network
	project  *state.Project
	shares   []history.Share // of conversations; none: they are private
	sharedIn []string        // conversations that came from the host
	lesson   *pupil          // nil: nothing is learnt from it
	caches   []launch.Cache  // what is shown stays as long as it is
}

// Prepare decides everything about a session. It starts nothing and writes
// nothing but the project's own state directory.
func Prepare(opt launch.Options) (*Session, error) {
	sys.Hurry()
	if !opt.Look {
		go journal.WarmSeal() // for the journal
		go hostexec.Builtin() // for the look at what the project runs
	}
	b, err := launch.DecideLaunch(opt)
	if err != nil {
		return nil, err
	}
	all, err := PrepareParts(b, parts())
	if err != nil {
		return nil, err
	}
	return compose(b, all)
}

// Environment prepares all that a launch makes its environment of, for an audit: every part
// but the program, which may not be installed, and the looks that add to it. It may return
// both an environment and the error that would stop a launch.
func Environment(opt launch.Options) (environ.Environment, error) {
	b, err := launch.DecideAudit(opt)
	if err != nil {
		return environ.Environment{}, err
	}
	all, err := PrepareParts(b, slices.DeleteFunc(parts(), func(p Part) bool { return p.name == "program" }))
	if err != nil {
		return environ.Environment{}, err
	}
	s := &Session{Base: b, Trees: &trees.Trees{}}
	for _, l := range looks() {
		if !slices.Contains([]string{"broker", "note", "environment"}, l.name) {
			continue
		}
		if all[l.name], err = l.prepare(s, all.Total()); err != nil {
			break
		}
	}
	return s.Env, err
}

// Look prepares only as far as policy.
func Look(opt launch.Options) (*Session, error) {
	b, err := launch.Decide(opt)
	if err != nil {
		return nil, err
	}
	return &Session{Base: b, Trees: &trees.Trees{}, Warnings: b.Said.Warnings}, nil
}

// compose makes a session of what its parts add.
func compose(b launch.Base, all sum) (*Session, error) {
	s := &Session{Base: b, Trees: &trees.Trees{}}
	for _, l := range looks() {
		c, err := l.prepare(s, all.Total())
		if err != nil {
			s.Close()
			return nil, err
		}
		all[l.name] = c
	}
	if err := s.finish(all.Total()); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// finish makes the plan.
func (s *Session) finish(total launch.Contribution) error {
	s.Warnings, s.Notices, s.Keys, s.Dropped = total.Warnings, total.Notices, total.Keys, total.Dropped
	s.Missing, s.caches = total.Missing, total.Caches
	s.Visible.Mounts, s.Visible.Masks = total.Mounts, total.Masks
	if err := s.sight.StillHidden(s.Base, total); err != nil {
		return err
	}
	filter, err := seccomp.Filter(s.Arch())
	if err != nil {
		return err
	}
	if err := s.Trees.Keep(s.Base, &total); err != nil {
		return err
	}
	// A rung that can serve a live view has somebody who hears of calls.
	hears := slices.Contains(s.Rung.Offer().Views, plan.Live)
	calls, err := watchedCalls(s.Arch(), s.Trees.Any(), s.ViewMode() == plan.Review, s.Asked.Learn, hears)
	if err != nil {
		return err
	}
	lim := s.Policy.Limits
	s.Limits = bounds(s.Base.Law)
	s.Plan, err = plan.Make(plan.Input{
		Session: s.ID, Hostname: launch.Hostname, User: s.User, Walls: s.Rung.Offer().Raised(), ABI: s.Facts.Landlock, Seccomp: filter,
		System: s.System(), There: s.Own != nil, Mounts: total.Mounts, Masks: total.Masks, Files: total.Files, Links: total.ShownLinks(),
		Sizes:   plan.Sizes{Tmp: lim.Tmp.Number(), Home: lim.Home.Number(), Shm: lim.Shm.Number(), Run: runSize},
		Limits:  plan.Limits{Pids: uint64(lim.Pids.Number()), Open: uint64(lim.Open.Number())},
		Capture: total.Capture, Watch: calls.watch, Heard: calls.heard, Observe: calls.observe, Filter: calls.filter,
		Process: plan.Process{Argv: launch.Raws(total.Command.Argv(total.Args)), Env: launch.Raws(s.Env.Environ()), Dir: plan.Raw(s.Dir),
			Umask: uint32(launch.Umask())},
	})
	if err != nil {
		return err
	}
	if err := s.Trees.CoverLayers(s.Plan); err != nil {
		return err
	}
	mutate(s, s.Asked.Environ)
	beginLesson(s)
	return nil
}

// calls are those of the sandbox that are looked at, in programs of seccomp.
type calls struct {
	watch, heard, filter []byte
	observe              bool // also without a tree of the host
}

func watchedCalls(arch string, trees, reviewed, learns, hears bool) (c calls, err error) {
	live := trees && !reviewed
	c.observe = learns || hears && trees
	switch {
	case learns:
		c.watch, err = seccomp.Learn(arch, live)
	case trees && reviewed && hears:
		c.watch, err = seccomp.Tell(arch)
	case !trees || live:
		c.watch, err = seccomp.Watch(arch)
	}
	if err == nil && trees && reviewed {
		c.filter, err = seccomp.Review(arch)
	}
	if err == nil && (live || trees && hears && !learns) {
		c.heard, err = seccomp.Heard(arch)
	}
	return c, err
}

const runSize = 64 << 20

func lookMasks(s *Session, total launch.Contribution) (launch.Contribution, error) {
	return s.Trees.Mask(s.Base, total)
}
func lookSources(s *Session, total launch.Contribution) (launch.Contribution, error) {
	return s.sight.HideSources(s.Base, total)
}
func lookTrust(s *Session, total launch.Contribution) (launch.Contribution, error) {
	return s.Trees.Pretrust(s.Base, total)
}

// Shown remembers that the findings were shown: a person is stopped once by them.
func (s *Session) Shown() error { return s.Trees.Untrusted.Shown(s.Person) }

func LookBroker(s *Session, total launch.Contribution) (out launch.Contribution, err error) {
	s.Upstream, s.Brokered, s.Lure, s.Offered = total.Upstream, total.Brokered, total.Lure, total.Offered
	s.Broker, out, err = lending.Connect(&s.Base, total)
	return out, err
}

func lookEnvironment(s *Session, total launch.Contribution) (out launch.Contribution, err error) {
	s.Env, s.envInput, out, err = environment(&s.Base, total)
	return out, err
}

func lookNote(s *Session, total launch.Contribution) (out launch.Contribution, err error) {
	s.Note, out, err = launch.Note(s.Base, total.Keys, s.Trees.Phantoms())
	return out, err
}

func lookState(s *Session, total launch.Contribution) (out launch.Contribution, err error) {
	if s.project, out, err = launch.PlaceState(s.Base, total); err == nil {
		s.shareHistory(&out)
	}
	return out, err
}

// Close lets go of the project's state, and of what is ready for it.
func (s *Session) Close() error {
	for _, c := range s.caches {
		c.Held.Close()
	}
	if s.project == nil {
		return nil
	}
	return s.project.Close()
}

// Remotes lists the remotes that the repository of a session has now, and accept makes
// them its own.
func (s *Session) Remotes() (lines []string, accept func() error, err error) {
	return lending.Remotes(s.Base)
}

// Mode is the posture of the network in a word.
func (s *Session) Mode() string {
	if s.Plan.Capture == nil || len(s.Plan.Capture.Rules) == 0 {
		return launch.ModeNone
	}
	return s.Reach.Mode
}

// View says in a word how a workspace is shown.
func (s *Session) View(ws launch.Workspace) string {
	switch {
	case !ws.Write:
		return "ro"
	case ws.Path == s.Trees.Clone:
		return "clone"
	}
	for _, t := range s.Work.Trees {
		if t.Path == ws.Path {
			return string(t.View)
		}
	}
	return "rw"
}
