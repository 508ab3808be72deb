package launch

import (
	"ringfence.dev/ringfence/internal/fault"
)

// elsewhere refuses what must not be where another machine has the walls: what its user may
// read there, whoever owns it reads as well.
func (b *Base) elsewhere() error {
	where := b.Own.Name
	if b.Facts.Landlock < 1 {
		return fault.New(fault.Refused, "ringfence doctor --rung ssh:"+where, "wall landlock cannot be raised on %s", where)
	}
	if b.Asked.Server != "" {
		return fault.New(fault.Refused, "use another rung for sessions with this server", "MCP server %s is this machine's, and does not run on %s", b.Asked.Server, where)
	}
	const fix = "leave that out, or use --rung native"
	for _, r := range b.Policy.Files.Expose {
		return fault.New(fault.Refused, fix, "no credential is sent to another machine: %s exposes %s", r.Source.String(), r.Value)
	}
	if len(b.Asked.ForceEnv) > 0 {
		return fault.New(fault.Refused, fix, "no credential is sent to another machine: --force-env names %s", b.Asked.ForceEnv[0])
	}
	b.Said.Notice("what the agent keeps in its home directory stays on " + where + ", and is removed there at the end")
	return nil
}
