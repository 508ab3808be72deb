package agent

import (
	_ "embed"
	"slices"
	"strings"
)

// HookProgram is where an agent's hooks find ringfence inside.
const HookProgram = "/.ringfence/bin/ringfence"

// The marks in managed files for what has to do with hooks, and for the commands that a
// person can give to the agent in a sandbox.
const (
	hookMark    = "@HOOK@"
	verifyMark  = "@VERIFY@"
	redTeamMark = "@RED-TEAM@"
)

// VerifyPrompt has an agent look whether its sandbox holds.
//
//go:embed prompts/verify.md
var VerifyPrompt string

// RedTeamPrompt has an agent try to get out of it.
//
//go:embed prompts/red-team.md
var RedTeamPrompt string

// Hooked reports whether the agent's managed files call HookProgram.
func (p *Profile) Hooked() bool {
	return slices.ContainsFunc(p.Managed, func(f File) bool { return strings.Contains(f.Content, hookMark) })
}
