package launch

import (
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/state"
)

// Where the project's tools are inside, and the program that asks for more. It is not below
// plan.Own, where nothing can ever be written: a tool is fetched to where it is used.
const (
	ToolsDir   = "/ringfence/tools"
	ToolsBin   = ToolsDir + "/bin"
	ToolClient = "get-tool"
)

// missingCommand is what bash runs in the place of a command that is not there. An exported
// function reaches every bash below; it starts nothing.
const missingCommand = `() { printf '%s: command not found\nringfence: ` + ToolClient + ` %s  says where it can come from, and asks for it\n' "$1" "$1" >&2; return 127; }`

// ToolsProfile is read by login shells, which some agents start, once the system's profile has
// set PATH anew.
const (
	ToolsProfile = "/etc/profile.d/ringfence.sh"
	ToolsAgain   = "case \":$PATH:\" in *:" + ToolsBin + ":*) ;; *) PATH=\"$PATH:" + ToolsBin + "\"; export PATH ;; esac\n"
)

// Tooled says whether a session can have tools of its project. A place with programs of its
// own cannot run this machine's; a server and a fetch have none.
func Tooled(b Base) bool {
	return !b.Asked.Passing && b.Asked.Server == "" && b.Asked.Fetch == "" && b.Own == nil
}

// MissingCommand tells bash what to say of a command that is not there.
func (c *Contribution) MissingCommand() { c.Set("[tools]", environ.NotFound, missingCommand) }

// fetchRules are those of a session that fetches a tool: the registries and archives of mode
// dev, under everything that only takes away. Nothing that the user gives agents is its to
// have: no path, no variable, no credential, no host besides.
func (b *Base) fetchRules(l policy.Layers) error {
	user := policy.Merge(policy.Merge(&policy.Policy{}, l.Defaults), l.User)
	off := &policy.Flag{Source: policy.Source{File: "tools"}}
	own := &policy.Policy{Limits: user.Limits, Rung: user.Rung, Require: user.Require, Supply: user.Supply}
	own.Network = policy.Network{Mode: &policy.Rule{Value: "dev", Source: off.Source}, Groups: user.Network.Groups, Deny: user.Network.Deny, Proxy: user.Network.Proxy}
	own.Broker = policy.Broker{Forges: off, Sign: off, Decoys: off}
	b.Policy, _ = policy.Resolve(policy.Layers{Ceiling: l.Ceiling, User: own, Home: l.Home})
	if w := b.Asked.Wanting; w != nil { // what its file and its posture deny; without a network a person may add tools all the same
		b.Policy = policy.Tighten(b.Policy, &policy.Policy{Supply: w.Supply, Network: policy.Network{Deny: w.Network.Deny}})
	}
	b.Bare = b.Policy
	if m := b.Policy.Network.Mode; m.Text() != "dev" {
		return fault.New(fault.Refused, "the administrator can allow mode dev there", "tools cannot be fetched: %s allows the network %s", m.Source.String(), m.Text())
	}
	return nil
}

// ToolBox is where the tools of a project lie on the host.
func ToolBox(d state.Dirs, root string) string {
	return filepath.Join(d.State, "projects", state.Key(root), "tools")
}

// ToolsShown is what of it sessions see as ToolsDir.
const ToolsShown = "shown"

// hasTool holds for a command that only a tool of the project has.
func (b *Base) hasTool(name string) bool {
	if name == "" || name != filepath.Base(name) || !Tooled(*b) {
		return false
	}
	_, err := os.Lstat(filepath.Join(ToolBox(b.Dirs, b.ProjectRoot()), ToolsShown, "bin", name))
	return err == nil
}
