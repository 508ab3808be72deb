package lending

import (
	"os"
	"path/filepath"
	"strings"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/credentials/sign"
	"ringfence.dev/ringfence/internal/file/settings"
	"ringfence.dev/ringfence/internal/git/repo"
	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// signing lets git inside ask the host for signatures, if the user signs. It returns
// what git has to know.
func signing(b launch.Base, own repo.Host) (inside []settings.GitEntry, out launch.Contribution, err error) {
	if b.Asked.Server != "" || b.Repo == nil || b.Repo.CommonDir == "" || b.NoNetwork() || !b.Policy.Broker.SignOn() {
		return nil, out, nil
	}
	key, err := sign.KeyFrom(own.Signing)
	if err != nil || !key.Configured() {
		return nil, out, err
	}
	conf := sign.Config{Stores: []string{filepath.Join(b.Repo.CommonDir, "objects")}, Key: key, Environ: b.Asked.Environ}
	conf.Identity = sign.Identity{Name: own.Name, Email: own.Email}
	conf.Workspaces = b.Written()
	if conf.Runtime = b.Dirs.Runtime; conf.Runtime == "" {
		conf.Runtime = filepath.Join(b.Dirs.State, "sign")
	}
	if !b.Asked.Look {
		if err := os.MkdirAll(conf.Runtime, 0o700); err != nil {
			return nil, out, err
		}
	}
	if err := conf.Check(); err != nil {
		out.Notice("commits are not signed inside: " + err.Error())
		return nil, out, nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil, out, err
	}
	for _, name := range []string{sign.GPG, sign.GPGSM, sign.SSHKeygen} {
		out.Mounts = append(out.Mounts, plan.Mount{Src: self, Dst: filepath.Join(launch.ClientDir, name), Why: "asks the host for signatures"})
	}
	out.Keys = append(out.Keys, "signatures by "+key.Format)
	if file := strings.TrimSuffix(policy.Expand(key.Name, b.User.Home), ".pub"); filepath.IsAbs(file) {
		out.Origins = append(out.Origins, launch.Origin{Path: file, What: "the key that signs", Ours: true})
	}
	out.Brokered.Sites = append(out.Brokered.Sites, func(g launch.Gateway, _ *broker.Broker) (broker.Site, error) {
		conf.Record = func(e sign.Event) { g.Record(signed(e)) }
		return broker.Site{Prefix: "/sign", Whole: true, Handler: broker.Recorded(g.Record, journal.Record{Via: "sign", Secret: "signing key"}, sign.New(conf))}, nil
	})
	return key.Inside(launch.ClientDir), out, nil
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
