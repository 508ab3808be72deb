package launch

import (
	"os"

	"ringfence.dev/ringfence/internal/audit/hook"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
)

// BeltPath is where the hook reads whether lost work can be brought back, and whether there
// is somebody to ask.
const BeltPath = plan.Own + "/belt"

// Hooks shows ourselves to an agent whose settings call us before it acts.
func Hooks(b Base) (out Contribution, err error) {
	if !b.Profile.Hooked() {
		return out, nil
	}
	self, err := os.Executable()
	out.Mounts = []plan.Mount{{Src: self, Dst: agent.HookProgram, Why: "judges what the agent is about to do"}}
	belt := hook.Belt{Nobody: b.Asked.Nobody || b.Policy.Posture().Silent, Copy: b.Asked.Clone || b.ViewMode() != plan.Live,
		Total: b.Policy.Workspace.Undo.Number(), File: b.Policy.Workspace.UndoFile.Number()}
	out.Put(BeltPath, belt.Text(), "what the hook knows of the session")
	return out, err
}
