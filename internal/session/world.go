package session

import (
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/credentials/gitproxy"
	"ringfence.dev/ringfence/internal/explain/why"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// World is the session for who asks why: the very plan, rules and environment.
func (s *Session) World() *why.World {
	w := &why.World{Plan: s.Plan, Policy: s.Policy, Ignored: s.Ignored, User: s.User, Env: s.Env, Reach: s.Reach,
		Trees: s.answerable(), Decoys: s.luredTo(), Forges: s.brokered.forged, With: s.with}
	w.Groups, _ = os.Getgroups() // without them the answer is only stricter
	w.Decide = s.decideBeforehand()
	w.Push = func(ref string) string {
		return gitproxy.JudgeName(ref, s.Policy.Broker.Protected.Values(), s.Policy.Broker.Git.Values())
	}
	w.Credentials = func(path string) []knownsecrets.Finding { return s.credentialsIn(path, nil) }
	w.Has = func(name string) bool { return hasVariable(s.asked.Environ, name) }
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
func (s *Session) answerable() []why.Tree {
	var out []why.Tree
	for _, t := range s.work.Trees {
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

// luredTo are the paths at which a launch lays decoys: a look lays none.
func (s *Session) luredTo() []string {
	if s.lure == nil {
		return nil
	}
	var out []string
	for _, f := range s.lure.files {
		taken := slices.ContainsFunc(s.Plan.Ops, func(o plan.Op) bool {
			at := string(o.Dst)
			return o.Do != plan.DoTmpfs && o.Do != plan.DoReadOnly && o.Why != decoyWhy && (file.Within(f.Path, at) || file.Within(at, f.Path))
		})
		if !taken {
			out = append(out, f.Path)
		}
	}
	return out
}

// decideBeforehand asks as the gate will.
func (s *Session) decideBeforehand() func(address.Target) why.Ruling {
	var b gate.Broker
	if s.broker != nil {
		b = s.broker
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
	opt := s.asked
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
