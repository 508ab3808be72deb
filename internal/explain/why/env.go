package why

import (
	"fmt"
	"strings"

	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// AboutEnv answers for a variable of the launcher's environment.
func (w *World) AboutEnv(name string) *Answer {
	a := &Answer{Kind: Env, Subject: name}
	if !w.Has(name) {
		a.Notes = append(a.Notes, "your environment has no such variable; the answer is for the case that it had")
	}
	f := w.Passes(name)
	if f.refused() && f.Help == "" {
		w.grantEnv(name, &f)
	}
	a.Findings = []Finding{f}
	return a
}

// Passes judges a variable, as if the launcher had it. No grant is looked for.
func (w *World) Passes(name string) Finding {
	if w.Has(name) {
		return passed(w.Env, name)
	}
	return passed(w.EnvIf(name), name)
}

// passed reads the audit of the environment.
func passed(env environ.Environment, name string) Finding {
	f := Finding{Access: Pass, Verdict: Denied, Ours: true, By: WallEnvironment, Source: BuiltIn,
		Rule: "only what is on a list enters", Reason: "it is on no list"}
	for _, e := range env.Entries {
		if e.Name != name {
			continue
		}
		f.Source, f.Reason = where(e.Source), e.Reason
		switch e.Kind {
		case environ.Passed, environ.Added:
			f.Verdict, f.Rule, f.Reason = Allowed, "[env] pass", "it enters by name"
			if e.Reason != "" {
				f.Reason += "; " + e.Reason
			}
			return f
		case environ.Set:
			f.Verdict, f.Rule, f.Reason = Private, "ringfence sets it", "it is there with a value of ringfence's own, not with yours"
			return f
		case environ.Refused:
			f.Rule, f.Help = "refused by name", ""
			if e.Reason == "the file is not trusted" {
				f.Help = "read the project's .ringfence.env, then ringfence trust"
			}
		case environ.Dropped:
			f.Rule = "only what is on a list enters"
			if e.Source.File == "launcher" {
				f.Source = BuiltIn
			}
		}
	}
	return f
}

// grantEnv looks for the grant that lets a variable in.
func (w *World) grantEnv(name string, f *Finding) {
	g := Grant{Env: []string{name}}
	if row, listed := knownsecrets.Env(name); listed {
		g = Grant{ForceEnv: []string{name}}
		g.Also = append(g.Also, fmt.Sprintf("%s: %s, for every program inside", row.Class, row.What))
	}
	g.Also = append(g.Also, "its value, whatever it is at each launch: to the agent, and to whoever the agent talks to")
	w.try(f, func(with *World) *Finding {
		now := passed(with.EnvIf(name), name)
		return &now
	}, nil, g)
	if f.Verdict == Private && f.Grant != nil && strings.HasPrefix(f.Reason, "it is there") {
		f.Grant.Also = append(f.Grant.Also, "ringfence's own value is lost, and with it what it was for")
	}
}
