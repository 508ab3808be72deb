package session

import (
	"time"

	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/toolchain"
	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/registries"
)

// prepareSupply tells the package managers inside to wait for young releases and to run
// no install scripts. Without a network there is nothing to brake.
func prepareSupply(b launch.Base) (out launch.Contribution, err error) {
	if b.Reach.Mode == launch.ModeNone || b.Asked.Passing {
		return out, nil
	}
	s := &b.Policy.Supply
	env, files, _ := toolchain.Supply(toolchain.SupplyRules{Age: s.MinAge(), Scripts: s.ScriptsOn(), Allow: s.Allow.Values(), Now: time.Now(), NoDoor: !registries.Stand(b), Shell: "/etc/ringfence/script-shell"})
	for _, e := range env {
		out.Set("[supply]", e.Name, e.Value)
	}
	for _, f := range files {
		out.Put(agent.Expand(f.Path, b.User.Home), f.Data, "[supply]: "+f.Tool)
		out.Files[len(out.Files)-1].Exec = f.Exec
	}
	return out, nil
}
