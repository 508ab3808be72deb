package session

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
)

// serverRules are those of a session that is an MCP server: what its own table says,
// under everything that only takes away. Nothing that the user allows agents in general
// is its to have.
func (b *Base) serverRules(l policy.Layers) error {
	all, _ := policy.Resolve(l)
	s := &policy.Server{Name: b.asked.Server}
	if found := all.FindServer(b.asked.Server); found != nil {
		s = found
	}
	if s.IsOff() {
		return fault.New(fault.Refused, "remove off = true there", "MCP server %s is switched off (%s)", s.Name, s.Off.Source.String())
	}
	user := l.User
	if user == nil {
		user = &policy.Policy{}
	}
	own := &policy.Policy{Limits: user.Limits, Require: user.Require, Broker: user.Broker, Supply: user.Supply}
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
	mode := policy.Rule{Value: modeNone, Source: s.Source}
	if len(s.Hosts)+len(s.Secrets)+len(flags.Network.Allow)+len(flags.Network.IP)+len(flags.Network.HostPorts) > 0 {
		mode.Value = "locked"
	}
	own.Network.Mode = &mode
	l.User, l.ProjectTrusted = own, false
	b.Policy, _ = policy.Resolve(l)
	b.bare = l.Bare(b.Policy)
	b.Policy.MCP, b.bare.MCP = nil, nil
	return b.serverSees(s.Sees())
}

// serverSees gives the server its place: the project, or a directory that is its own.
func (b *Base) serverSees(what string) error {
	b.server.root = filepath.Join(serverDir(b.dirs.State, b.projectRoot(), b.asked.Server), "work")
	if err := os.MkdirAll(b.server.root, 0o700); err != nil {
		return err
	}
	switch what {
	case policy.SeesWrite, policy.SeesRead:
		for i := range b.Workspaces {
			b.Workspaces[i].Write = b.Workspaces[i].Write && what == policy.SeesWrite
		}
		// Not in the project: what programs find in the directory they start in, as node
		// its modules and python its own, would be the agent's to write.
		b.said.set("mcp", "RINGFENCE_WORKSPACE", b.Workspaces[0].Path)
		b.dir = b.User.Home
	default:
		real, id, err := resolveDir(b.server.root)
		if err != nil {
			return err
		}
		b.Workspaces = []Workspace{{Path: real, Given: real, Write: true, ID: id, Why: "the server's own"}}
		b.server.private, b.dir, b.Repo = true, real, nil
	}
	return nil
}

// serverPlace is what a session has as an MCP server.
type serverPlace struct {
	root    string // whose state it keeps
	private bool   // it sees nothing of the project
}

// stateRoot names whose state this session keeps: the project's, or a server's in it.
func (b Base) stateRoot() string {
	return cmp.Or(b.server.root, b.projectRoot())
}

// ServerSettings is how an MCP server starts, and what it tells.
type ServerSettings struct {
	Argv    []string
	Env     []string // NAME or NAME=VALUE
	Force   []string // names of Env: the user gave them to this server
	Book    mcp.Book
	Refuse  bool   // keep from the agent what drifted
	Project string // whose server it is
}

// Server finds how a server starts: by its table, or by the settings that an agent has
// of it on the host.
func Server(opt Options, name, agentName string) (ServerSettings, error) {
	out := ServerSettings{}
	if err := policy.CheckServerName(name); err != nil {
		return out, fault.New(fault.Usage, "", "%w", err)
	}
	if name == policy.OwnServer {
		return out, fault.New(fault.Usage, "choose another name", "%s is ringfence's own server, which runs in no sandbox", name)
	}
	b, err := decide(opt)
	if err != nil {
		return out, err
	}
	out.Project = b.projectRoot()
	out.Book, out.Refuse = PinBook(b.dirs.State, out.Project, name), true
	if s := b.Policy.FindServer(name); s != nil {
		out.Refuse = !s.Tells()
		for _, a := range s.Command {
			out.Argv = append(out.Argv, agent.Expand(a.Value, b.User.Home))
		}
		out.Env = s.Env.Values()
	}
	if h, ok := settingsOf(b, agentName, name); ok && out.Argv == nil {
		h = h.Filled(b.getenv)
		out.Argv = h.Argv
		for n, v := range h.Env {
			if !slices.ContainsFunc(out.Env, func(e string) bool { return e == n || strings.HasPrefix(e, n+"=") }) {
				out.Env = append(out.Env, n+"="+v)
			}
		}
	}
	for _, e := range out.Env {
		n, _, _ := strings.Cut(e, "=")
		out.Force = append(out.Force, n)
	}
	slices.Sort(out.Env)
	return out, nil
}

// settingsOf finds a server in the settings of one agent, or of all if none is named.
func settingsOf(b Base, agentName, name string) (agent.HostServer, bool) {
	dir := b.agentsDir()
	names := []string{agentName}
	if agentName == "" {
		names, _ = agent.Names(dir) // those that cannot be read have no servers either
	}
	for _, n := range names {
		p, err := agent.Load(n, dir)
		if err != nil {
			continue
		}
		all, _ := hostServers(b, p.MCP)
		if h, ok := all[name]; ok && h.Argv != nil {
			return h, true
		}
	}
	return agent.HostServer{}, false
}

// Listed is an MCP server that somebody knows of.
type Listed struct {
	Name      string   `json:"name"`
	State     string   `json:"state"`            // ready, off, outside, remote, nowhere, by hand
	Named     string   `json:"named,omitempty"`  // where policy names it
	Agents    []string `json:"agents,omitempty"` // whose settings have it
	Program   string   `json:"program,omitempty"`
	Hosts     []string `json:"hosts,omitempty"`
	Secrets   []string `json:"secrets,omitempty"`
	Workspace string   `json:"workspace"`
	Tools     int      `json:"tools"`
	Digest    string   `json:"digest,omitempty"` // of what was accepted
	Drift     []string `json:"drift,omitempty"`
}

// Servers lists the servers of policy and of all agents' settings, for a project.
func Servers(opt Options) ([]Listed, error) {
	b, err := decide(opt)
	if err != nil {
		return nil, err
	}
	known := map[string]*Listed{}
	at := func(name string) *Listed {
		if known[name] == nil {
			known[name] = &Listed{Name: name, State: "outside", Workspace: policy.SeesNothing}
		}
		return known[name]
	}
	dir := b.agentsDir()
	names, err := agent.Names(dir)
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		p, err := agent.Load(n, dir)
		if err != nil {
			return nil, err
		}
		all, _ := hostServers(b, p.MCP)
		for name, h := range all {
			l := at(name)
			l.Agents = append(l.Agents, n)
			if h.Argv == nil {
				l.State = "remote"
			} else if l.Program == "" {
				l.Program = h.Argv[0]
			}
		}
	}
	for i := range b.Policy.MCP {
		listServer(&b.Policy.MCP[i], at(b.Policy.MCP[i].Name))
	}
	seen, err := os.ReadDir(serverDir(b.dirs.State, b.projectRoot(), ""))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range seen { // also what was run by hand
		if known[e.Name()] == nil && policy.CheckServerName(e.Name()) == nil {
			at(e.Name()).State = "by hand"
		}
	}
	var out []Listed
	for _, l := range known {
		if err := listPins(b, l); err != nil {
			return nil, err
		}
		out = append(out, *l)
	}
	slices.SortFunc(out, func(a, b Listed) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

func listServer(s *policy.Server, l *Listed) {
	l.Named, l.Workspace = s.Source.String(), s.Sees()
	l.Hosts, l.Secrets = s.Hosts.Values(), s.Secrets.Values()
	if len(s.Command) > 0 {
		l.Program = s.Command[0].Value
	}
	switch {
	case s.IsOff():
		l.State = "off"
	case s.Name == policy.OwnServer:
		l.State = "ready"
	case l.Program != "":
		l.State = "ready"
	case l.State != "remote":
		l.State = "nowhere"
	}
}

func listPins(b Base, l *Listed) error {
	if policy.CheckServerName(l.Name) != nil {
		return nil
	}
	r, err := PinBook(b.dirs.State, b.projectRoot(), l.Name).Load()
	if err != nil || r == nil {
		return err
	}
	l.Digest, l.Tools = r.Accepted.Digest(), len(r.Accepted)
	if _, has := r.Accepted[mcp.Instructions]; has {
		l.Tools--
	}
	for _, c := range r.Drift() {
		l.Drift = append(l.Drift, c.String())
	}
	return nil
}

// serverTitle is what people read in the place of an agent's title.
func serverTitle(name string) string { return fmt.Sprintf("MCP server %s", name) }
