package launch

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// Offered are the MCP servers of a session, each by its name.
type Offered struct {
	Started []string // those that start on the host, in sandboxes of their own
	Own     bool     // ringfence's own
	Agent   string   // whose settings say how they start
}

// ServerDir is what ringfence keeps of a server in a project.
func ServerDir(dir, project, name string) string {
	return filepath.Join(dir, "mcp", state.Key(project), name)
}

// serverRules are those of a session that is an MCP server: what its own table says,
// under everything that only takes away. Nothing that the user allows agents in general
// is its to have.
func (b *Base) serverRules(l policy.Layers) error {
	// The posture of the session that starts it has decided already whether it may start.
	l.User, l.Defaults = policy.Merge(policy.Merge(&policy.Policy{}, l.Defaults), l.User), nil
	l.User.Project = policy.Project{}
	if l.Flags != nil {
		l.Flags = policy.Merge(&policy.Policy{}, l.Flags)
		l.Flags.Project = policy.Project{}
	}
	all, _ := policy.Resolve(l)
	s := &policy.Server{Name: b.Asked.Server}
	if found := all.FindServer(b.Asked.Server); found != nil {
		s = found
	}
	if s.IsOff() {
		return fault.New(fault.Refused, "remove off = true there", "MCP server %s is switched off (%s)", s.Name, s.Off.Source.String())
	}
	user := l.User
	if user == nil {
		user = &policy.Policy{}
	}
	own := &policy.Policy{Limits: user.Limits, Rung: user.Rung, Require: user.Require, Broker: user.Broker, Supply: user.Supply}
	own.Workspace = policy.Workspace{View: user.Workspace.View, Mask: user.Workspace.Mask, Undo: user.Workspace.Undo, UndoFile: user.Workspace.UndoFile}
	own.Files = policy.Files{Read: s.Read, Write: s.Write, Mask: user.Files.Mask}
	own.Network = policy.Network{Allow: s.Hosts, Deny: user.Network.Deny, Proxy: user.Network.Proxy}
	for _, r := range s.Secrets {
		if kept := user.FindSecret(r.Value); kept != nil {
			own.Secret = append(own.Secret, *kept)
		}
	}
	flags := l.Flags
	if flags == nil {
		flags = &policy.Policy{}
	}
	mode := policy.Rule{Value: ModeNone, Source: s.Source}
	if len(s.Hosts)+len(s.Secrets)+len(flags.Network.Allow)+len(flags.Network.IP)+len(flags.Network.HostPorts) > 0 {
		mode.Value = "locked"
	}
	own.Network.Mode = &mode
	l.User, l.ProjectTrusted = own, false
	b.Policy, _ = policy.Resolve(l)
	b.Bare = l.Bare(b.Policy)
	b.Policy.MCP, b.Bare.MCP = nil, nil
	return b.serverSees(s.Sees())
}

// serverSees gives the server its place: the project, or a directory that is its own.
func (b *Base) serverSees(what string) error {
	b.Server.root = filepath.Join(ServerDir(b.Dirs.State, b.ProjectRoot(), b.Asked.Server), "work")
	if err := os.MkdirAll(b.Server.root, 0o700); err != nil {
		return err
	}
	switch what {
	case policy.SeesWrite, policy.SeesRead:
		for i := range b.Workspaces {
			b.Workspaces[i].Write = b.Workspaces[i].Write && what == policy.SeesWrite
		}
		// Not in the project: what programs find in the directory they start in, as node
		// its modules and python its own, would be the agent's to write.
		b.Said.Set("mcp", "RINGFENCE_WORKSPACE", b.Workspaces[0].Path)
		b.Dir = b.User.Home
	default:
		real, id, err := resolveDir(b.Server.root)
		if err != nil {
			return err
		}
		b.Workspaces = []Workspace{{Path: real, Given: real, Write: true, ID: id, Why: "the server's own"}}
		b.Server.Private, b.Dir, b.Repo = true, real, nil
	}
	return nil
}

// serverPlace is what a session has as an MCP server.
type serverPlace struct {
	root    string // whose state it keeps
	Private bool   // it sees nothing of the project
}

// stateRoot names whose state this session keeps: the project's, or a server's in it.
func (b Base) stateRoot() string {
	return cmp.Or(b.Server.root, b.ProjectRoot())
}

// serverTitle is what people read in the place of an agent's title.
func serverTitle(name string) string { return fmt.Sprintf("MCP server %s", name) }

// ClientDir is where our own programs lie inside: those that git calls to sign, and those
// that ask the host.
const ClientDir = plan.Own + "/bin"
