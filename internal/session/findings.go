package session

import (
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
)

// Findings lists everything that would stop a launch with this policy here: rules
// that no sandbox could enforce, paths that do not exist or hold credentials,
// variables that are refused, limits that are required and that nobody enforces.
// The error is for what cannot even be read.
func Findings(opt Options) ([]string, error) {
	opt.Look = true
	b, err := decide(opt)
	if err == nil {
		err = b.describe()
	}
	if err != nil {
		return nil, err
	}
	all, err := prepareParts(b, []part{partOf("toolchains")})
	if err != nil {
		return nil, err
	}
	var out []string
	for _, p := range b.Problems() {
		out = append(out, p.Source.String()+": "+p.Text)
	}
	for _, ws := range b.Workspaces {
		out = noted(out, b.refuseCredentials(ws.Path, ws.Why))
	}
	for _, g := range policy.Grants(b.Policy, b.User.Home) {
		if !g.Workspace {
			out = noted(out, (&grants{Base: b}).grant(g))
		}
	}
	_, _, _, err = environment(&b, all.total())
	out = noted(out, err)
	return noted(out, limitsHold(b)), nil
}

func noted(out []string, err error) []string {
	if err != nil {
		out = append(out, err.Error())
	}
	return out
}

// limitsHold tries the limits on nothing.
func limitsHold(b Base) error {
	if len(askedLimits(b.law)) == 0 {
		return nil
	}
	group, report, err := cgroup.Open(b.ID, bounds(b.law))
	if err != nil {
		return err
	}
	defer group.Close()
	return requireLimits(b, report)
}
