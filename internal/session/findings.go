package session

import (
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/trees"
)

// Findings lists everything that would stop a launch with this policy here: rules
// that no sandbox could enforce, paths that do not exist or hold credentials,
// variables that are refused, limits that are required and that nobody enforces.
// The error is for what cannot even be read.
func Findings(opt launch.Options) ([]string, error) {
	opt.Look = true
	b, err := launch.Decide(opt)
	if err == nil {
		err = b.Describe()
	}
	if err != nil {
		return nil, err
	}
	all, err := PrepareParts(b, []Part{PartOf("toolchains")})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range b.Problems() {
		out = append(out, p.Source.String()+": "+p.Text)
	}
	for _, ws := range b.Workspaces {
		out = noted(out, b.RefuseCredentials(ws.Path, ws.Why))
	}
	for _, g := range policy.Grants(b.Policy, b.User.Home) {
		if !g.Workspace {
			out = noted(out, trees.TryGrant(b, g))
		}
	}
	_, _, _, err = environment(&b, all.Total())
	out = noted(out, err)
	return noted(out, limitsHold(b)), nil
}

func noted(out []string, err error) []string {
	if err != nil {
		out = append(out, err.Error())
	}
	return out
}
