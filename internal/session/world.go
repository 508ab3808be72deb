package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/lending"
)

// World is the session for who asks why: the very plan, rules and environment.
func (s *Session) World() *why.World {
	w := &why.World{Plan: s.Plan, Policy: s.Policy, Ignored: s.Ignored, User: s.User, Env: s.Env, Reach: s.Reach,
		Trees: answerable(s), Decoys: s.Lure.Laid(s.Plan), Forges: s.Brokered.Forged, With: s.with}
	w.Groups, _ = os.Getgroups() // without them the answer is only stricter
	w.Decide = decideBeforehand(s)
	w.Push = lending.JudgePush(s.Policy)
	w.Credentials = s.AllCredentials
	w.Has = func(name string) bool { return hasVariable(s.Asked.Environ, name) }
	w.EnvIf = func(name string) environ.Environment {
		in := s.envInput
		in.Launcher = append(slices.Clone(in.Launcher), name+"=")
		env, _ := environ.Build(in) // whole also where a name was refused
		return env
	}
	return w
}

func hasVariable(environ []string, name string) bool {
	return slices.ContainsFunc(environ, func(e string) bool { return strings.HasPrefix(e, name+"=") })
}

// answerable are the trees that may be changed, as the plan has them.
func answerable(s *Session) []why.Tree {
	var out []why.Tree
	for _, t := range s.Work.Trees {
		live := slices.ContainsFunc(s.Plan.Trees, func(p plan.Tree) bool { return string(p.Path) == t.Path })
		layer := slices.ContainsFunc(s.Plan.Ops, func(o plan.Op) bool { return o.Do == plan.DoLayer && string(o.Dst) == t.Path })
		if !live && !layer {
			continue // a tighter rule took its place
		}
		view := why.Tree{Path: t.Path, View: plan.View(t.View), Rules: s.Trees.Rules(t.Path)}
		if v := s.Policy.Workspace.View; v != nil {
			view.Rule = *v
		}
		out = append(out, view)
	}
	return out
}

// decideBeforehand asks as the gate will.
func decideBeforehand(s *Session) func(address.Target) why.Ruling {
	var b gate.Broker
	if s.Broker != nil {
		b = s.Broker
	}
	asked := gate.NewBeforehand(s.Reach, b)
	return func(t address.Target) why.Ruling {
		defer asked.Close()
		d := asked.Decide(t)
		out := why.Ruling{Allow: d.Verdict == gate.Allow, Rule: d.Rule, Source: d.Source, Reason: d.Reason}
		switch {
		case d.Rule == gate.RuleBroker:
			out.By = why.WallBroker
		case d.Rule == gate.RuleRanges:
			out.By = why.WallRanges
		}
		return out
	}
}

// with prepares the same session with a grant more.
func (s *Session) with(g why.Grant) (*why.World, error) {
	opt := s.Asked
	opt.Look = true
	if opt.Flags == nil {
		opt.Flags = &policy.Policy{}
	}
	opt.Flags = policy.Merge(opt.Flags, g.Layer)
	opt.Env = slices.Concat(opt.Env, g.Env)
	opt.ForceEnv = slices.Concat(opt.ForceEnv, g.ForceEnv)
	for _, name := range slices.Concat(g.Env, g.ForceEnv) {
		if !hasVariable(opt.Environ, name) {
			opt.Environ = append(slices.Clone(opt.Environ), name+"=")
		}
	}
	next, err := Prepare(opt)
	if err != nil {
		return nil, err
	}
	return next.World(), nil
}

// Explain answers why, for the agent. It is told nothing of the host that it cannot see
// from where it stands: neither whether a file is there nor whether a variable is set.
func (s *Session) Explain(what string) (string, error) {
	kind, err := why.KindOf(what, why.Seen{})
	if err != nil {
		return "", errors.New("say an absolute path, a host with a dot or a port, or the name of a variable")
	}
	w := s.World()
	w.With = nil // a trial of every grant would be work for us, at the agent's word
	var a *why.Answer
	switch kind {
	case why.Host:
		t, err := why.Target(what)
		if err != nil {
			return "", err
		}
		a = w.AboutHost(t)
	case why.Env:
		a = w.AboutEnv(what)
	default:
		p := agent.Expand(what, s.User.Home)
		if !filepath.IsAbs(p) {
			return "", errors.New("say an absolute path")
		}
		a = w.AboutPath(filepath.Clean(p))
	}
	var b strings.Builder
	for _, f := range a.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Access, toldInside(f))
	}
	b.WriteString("Only the person outside can change this; request_grant asks for it.\n")
	return b.String(), nil
}

// toldInside is a finding without what only the host knows.
func toldInside(f why.Finding) string {
	switch f.By {
	case why.WallView, why.WallNothing, why.WallPermission, why.WallEnvironment, why.WallPrivate:
		if f.Verdict == why.Allowed || f.Verdict == why.Private {
			return string(f.Verdict)
		}
		return "not part of this sandbox"
	}
	text := string(f.Verdict) + ", by " + f.By
	if f.Rule != "" {
		text += fmt.Sprintf(" (%s)", f.Rule)
	}
	return text
}
