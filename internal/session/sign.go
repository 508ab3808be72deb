package session

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/sign"
	"ringfence.dev/ringfence/internal/credentials/signclient"
	"ringfence.dev/ringfence/internal/file"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// clientDir is where the programs lie that git calls to sign.
const clientDir = plan.Own + "/bin"

// signing lets git inside ask the host for signatures, if the user signs. It returns
// what git has to know.
func (d *draft) signing(own repo.Host) ([]repo.Entry, error) {
	if d.opt.Server != "" || d.Repo == nil || d.Repo.CommonDir == "" || d.modeNone() || !d.Policy.Broker.SignOn() {
		return nil, nil
	}
	key, err := sign.KeyFrom(own.Signing)
	if err != nil || !key.Configured() {
		return nil, err
	}
	conf := sign.Config{Stores: []string{filepath.Join(d.Repo.CommonDir, "objects")}, Key: key, Environ: d.opt.Environ}
	conf.Identity = sign.Identity{Name: own.Name, Email: own.Email}
	conf.Workspaces = d.written()
	if conf.Runtime = d.dirs.Runtime; conf.Runtime == "" {
		conf.Runtime = filepath.Join(d.dirs.State, "sign")
	}
	if !d.opt.Look {
		if err := os.MkdirAll(conf.Runtime, 0o700); err != nil {
			return nil, err
		}
	}
	if err := conf.Check(); err != nil {
		d.notice("commits are not signed inside: " + err.Error())
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{signclient.GPG, signclient.GPGSM, signclient.SSHKeygen} {
		d.mounts = append(d.mounts, plan.Mount{Src: self, Dst: filepath.Join(clientDir, name), Why: "asks the host for signatures"})
	}
	d.Keys = append(d.Keys, "signatures by "+key.Format)
	d.signKey = strings.TrimSuffix(policy.Expand(key.Name, d.User.Home), ".pub")
	d.brokered.sites = append(d.brokered.sites, func(g *gate.Gate) (broker.Site, error) {
		conf.Record = func(e sign.Event) { g.Record(signed(e)) }
		return broker.Site{Prefix: "/sign", Whole: true, Handler: broker.Recorded(g.Record, journal.Record{Via: "sign", Secret: "signing key"}, sign.New(conf))}, nil
	})
	return key.Inside(clientDir), nil
}

// signed is the record of a signature.
func signed(e sign.Event) journal.Record {
	r := journal.Record{Kind: journal.Broker, Event: journal.Use, Via: "sign", Protocol: e.Format, Secret: "signing key " + e.Key,
		Verdict: journal.Allow, Reason: e.Type + " " + e.Subject}
	if !e.Allowed {
		r.Verdict, r.Reason = journal.Deny, e.Reason
		if e.Detail != "" {
			r.Reason += " (" + e.Detail + ")"
		}
	}
	return r
}

// written are the places that a session of this project can write.
func (d *draft) written() (out []string) {
	for _, ws := range d.Workspaces {
		if ws.Write {
			out = append(out, ws.Path)
		}
	}
	for _, r := range d.Policy.Files.Write {
		out = append(out, policy.Expand(r.Value, d.User.Home))
	}
	if d.Repo != nil {
		out = append(out, d.Repo.Extra...)
	}
	return out
}

// agentWrites holds for a path that a session of this project can write.
func (d *draft) agentWrites(path string) bool {
	return slices.ContainsFunc(d.written(), func(dir string) bool { return file.Within(path, dir) })
}
