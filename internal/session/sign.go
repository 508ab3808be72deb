package session

import (
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/sign"
	"ringfence.dev/ringfence/internal/credentials/signclient"
	"ringfence.dev/ringfence/internal/git/config"
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
func (gp *gitPart) signing(own repo.Host) ([]config.Entry, error) {
	if gp.asked.Server != "" || gp.Repo == nil || gp.Repo.CommonDir == "" || gp.modeNone() || !gp.Policy.Broker.SignOn() {
		return nil, nil
	}
	key, err := sign.KeyFrom(own.Signing)
	if err != nil || !key.Configured() {
		return nil, err
	}
	conf := sign.Config{Stores: []string{filepath.Join(gp.Repo.CommonDir, "objects")}, Key: key, Environ: gp.asked.Environ}
	conf.Identity = sign.Identity{Name: own.Name, Email: own.Email}
	conf.Workspaces = gp.written()
	if conf.Runtime = gp.dirs.Runtime; conf.Runtime == "" {
		conf.Runtime = filepath.Join(gp.dirs.State, "sign")
	}
	if !gp.asked.Look {
		if err := os.MkdirAll(conf.Runtime, 0o700); err != nil {
			return nil, err
		}
	}
	if err := conf.Check(); err != nil {
		gp.notice("commits are not signed inside: " + err.Error())
		return nil, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for _, name := range []string{signclient.GPG, signclient.GPGSM, signclient.SSHKeygen} {
		gp.mounts = append(gp.mounts, plan.Mount{Src: self, Dst: filepath.Join(clientDir, name), Why: "asks the host for signatures"})
	}
	gp.keys = append(gp.keys, "signatures by "+key.Format)
	if file := strings.TrimSuffix(policy.Expand(key.Name, gp.User.Home), ".pub"); filepath.IsAbs(file) {
		gp.origins = append(gp.origins, origin{file, "the key that signs", true, false})
	}
	gp.brokered.sites = append(gp.brokered.sites, func(_ *Session, g *gate.Gate) (broker.Site, error) {
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
