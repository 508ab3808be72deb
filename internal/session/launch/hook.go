package launch

import (
	"os"

	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// Hooks shows ourselves to an agent whose settings call us before it acts.
func Hooks(b Base) (out Contribution, err error) {
	if !b.Profile.Hooked() {
		return out, nil
	}
	self, err := os.Executable()
	out.Mounts = []plan.Mount{{Src: self, Dst: agent.HookProgram, Why: "judges what the agent is about to do"}}
	return out, err
}
