package inside

import (
	"strings"

	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/sandbox/probe"
	"ringfence.dev/ringfence/internal/sandbox/wire"
)

// observe runs the launch subset of the probes from where the agent will stand.
func observe(p *plan.Plan) []wire.Observation {
	var writable []string
	for _, op := range p.Ops {
		layer := op.Do == plan.DoLayer && !strings.HasPrefix(string(op.Dst), plan.Own+"/")
		if op.Do == plan.DoTmpfs || op.Do == plan.DoBind && op.Write || op.Do == plan.DoCache || layer {
			writable = append(writable, string(op.Dst))
		}
	}
	var out []wire.Observation
	for _, r := range probe.Launch(plan.Own, writable, p.Built) {
		out = append(out, wire.Observation{Probe: r.Name, Open: r.Open, Detail: r.Detail})
	}
	return out
}
