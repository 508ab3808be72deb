package session

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/session/launch"
)

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
func Server(opt launch.Options, name, agentName string) (ServerSettings, error) {
	out := ServerSettings{}
	if err := policy.CheckServerName(name); err != nil {
		return out, fault.New(fault.Usage, "", "%w", err)
	}
	if name == policy.OwnServer {
		return out, fault.New(fault.Usage, "choose another name", "%s is ringfence's own server, which runs in no sandbox", name)
	}
	b, err := launch.Decide(opt)
	if err != nil {
		return out, err
	}
	out.Project = b.ProjectRoot()
	out.Book, out.Refuse = PinBook(b.Dirs.State, out.Project, name), true
	if s := b.Policy.FindServer(name); s != nil {
		out.Refuse = !s.Tells()
		for _, a := range s.Command {
			out.Argv = append(out.Argv, agent.Expand(a.Value, b.User.Home))
		}
		out.Env = s.Env.Values()
	}
	if h, ok := settingsOf(b, agentName, name); ok && out.Argv == nil {
		h = h.Filled(b.Getenv)
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
func settingsOf(b launch.Base, agentName, name string) (agent.HostServer, bool) {
	dir := b.AgentsDir()
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
func Servers(opt launch.Options) ([]Listed, error) {
	b, err := launch.Decide(opt)
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
	dir := b.AgentsDir()
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
	for name, l := range known {
		if l.State == "outside" && b.Policy.UnnamedServers() == policy.UnnamedAll && policy.CheckServerName(name) == nil {
			l.State, l.Named = "ready", b.Policy.Unnamed.Source.String()
		}
	}
	seen, err := os.ReadDir(launch.ServerDir(b.Dirs.State, b.ProjectRoot(), ""))
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

func listPins(b launch.Base, l *Listed) error {
	if policy.CheckServerName(l.Name) != nil {
		return nil
	}
	r, err := PinBook(b.Dirs.State, b.ProjectRoot(), l.Name).Load()
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
