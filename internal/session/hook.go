package session

import (
	"os"

	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// hooks shows ourselves to an agent whose settings call us before it acts.
func (d *draft) hooks() error {
	if !d.Profile.Hooked() {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	d.mounts = append(d.mounts, plan.Mount{Src: self, Dst: agent.HookProgram, Why: "judges what the agent is about to do"})
	return nil
}
