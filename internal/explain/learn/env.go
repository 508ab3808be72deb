package learn

import (
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/knownsecrets"
)

// env proposes variables. Those that the catalogue knows stay outside.
func (in Situation) env(all []Variable, p *Proposal) {
	for _, v := range all {
		passed := func(r policy.Rule) bool { return r.Value == v.Name }
		set := func(s policy.Setting) bool { return s.Name == v.Name }
		if slices.ContainsFunc(in.Policy.Env.Pass, passed) || slices.ContainsFunc(in.Policy.Env.Set, set) {
			continue
		}
		if e, known := knownsecrets.Env(v.Name); known {
			p.not("$"+v.Name, string(e.Class)+": "+e.What)
			continue
		}
		if policy.Admit("env", "pass", v.Name) != nil {
			continue
		}
		if in.secret(v.Name) {
			p.not("$"+v.Name, "its value may be a secret; if it must be: --env "+v.Name)
			continue
		}
		p.Lines = append(p.Lines, Line{"env", "pass", v.Name, v.Count, "its value in your shell; named in " + in.relative(v.File)})
	}
}

// secret holds for a variable whose value may be one. The name alone tells little: a repository chooses which names it mentions.
func (in Situation) secret(name string) bool {
	for _, e := range in.Env {
		value, ok := strings.CutPrefix(e, name+"=")
		if !ok {
			continue
		}
		return agent.MayBeSecret(value)
	}
	return false
}

func (in Situation) relative(p string) string {
	for _, t := range in.Trees {
		if p != t && file.Within(p, t) {
			return p[len(t)+1:]
		}
	}
	return in.show(p)
}
