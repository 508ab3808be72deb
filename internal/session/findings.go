package session

import (
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/cgroup"
	"ringfence.dev/ringfence/internal/state"
)

// Findings lists everything that would stop a launch with this policy here: rules
// that no sandbox could enforce, paths that do not exist or hold credentials,
// variables that are refused, limits that are required and that nobody enforces.
// The error is for what cannot even be read.
func Findings(opt Options) ([]string, error) {
	opt.Look = true
	d := &draft{Session: &Session{ID: state.NewID()}, opt: opt}
	for _, step := range []func() error{d.who, d.where, d.rules, d.profile, d.toolchains} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	var out []string
	for _, p := range d.Problems() {
		out = append(out, where(p.Source)+": "+p.Text)
	}
	for _, ws := range d.Workspaces {
		out = note(out, d.refuseCredentials(ws.Path, ws.Why))
	}
	for _, g := range policy.Grants(d.Policy, d.User.Home) {
		if !g.Workspace {
			out = note(out, d.grant(g))
		}
	}
	out = note(out, d.environment())
	return note(out, d.limitsHold()), nil
}

func note(out []string, err error) []string {
	if err != nil {
		out = append(out, err.Error())
	}
	return out
}

// limitsHold tries the limits on nothing.
func (d *draft) limitsHold() error {
	if len(d.askedLimits()) == 0 {
		return nil
	}
	group, report, err := cgroup.Open(d.ID, d.bounds())
	if err != nil {
		return err
	}
	defer group.Close()
	return d.requireLimits(report)
}
