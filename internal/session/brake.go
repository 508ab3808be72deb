package session

import (
	"time"

	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/policy/supply"
)

// prepareSupply tells the package managers inside to wait for young releases and to run
// no install scripts. Without a network there is nothing to brake.
func prepareSupply(b Base) (out Contribution, err error) {
	if b.Reach.Mode == modeNone || b.asked.Passing {
		return out, nil
	}
	s := &b.Policy.Supply
	env, files, _ := supply.Settings(supply.Options{Age: s.MinAge(), Scripts: s.ScriptsOn(), Allow: s.Allow.Values(), Now: time.Now()})
	for _, e := range env {
		out.set("[supply]", e.Name, e.Value)
	}
	for _, f := range files {
		out.put(agent.Expand(f.Path, b.User.Home), f.Data, "[supply]: "+f.Tool)
	}
	return out, nil
}
