package session

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/credentials/broker"
	"ringfence.dev/ringfence/internal/mcp"

	"ringfence.dev/ringfence/internal/network/gate"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/state"
)

// offered are the MCP servers of a session, each by its name.
type offered struct {
	started []string // those that start on the host, in sandboxes of their own
	own     bool     // ringfence's own
	agent   string   // whose settings say how they start
}

// servers leads the agent to the MCP servers that policy names. The agent's settings
// name a program of ours, which asks the supervisor for a server by its name: neither
// how it starts nor what it knows comes inside.
func (d *draft) servers() error {
	if d.opt.Server != "" {
		return nil
	}
	m := d.Profile.MCP
	host := d.hostServers(m)
	if d.modeNone() {
		if len(host)+len(d.Policy.ServersOn()) > 0 {
			d.notice("MCP servers are not there without a network: the way to them is part of it")
		}
		return nil
	}
	d.mcp.offered = offered{agent: d.Profile.Name, own: d.Policy.OwnServerOn() && m.Path != ""}
	entries := map[string]any{}
	if d.mcp.own {
		entries[policy.OwnServer] = m.Entry([]string{clientPath, policy.OwnServer})
	}
	for _, s := range d.Policy.ServersOn() {
		d.offer(s, host, entries)
	}
	d.leftOut(host, entries)
	if len(d.mcp.started) == 0 && !d.mcp.own {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	d.mounts = append(d.mounts, plan.Mount{Src: self, Dst: clientPath, Why: "asks the host for MCP servers"})
	d.brokered.sites = append(d.brokered.sites, func(g *gate.Gate) (broker.Site, error) {
		return broker.Site{Prefix: "/mcp", Handler: d.mcp.handler(d.Session, g)}, nil
	})
	if len(entries) == 0 || m.Path == "" {
		return nil
	}
	return d.tellServers(m, entries)
}

// clientPath is where the program lies that asks for servers.
const clientPath = clientDir + "/" + mcp.Client

// hostServers reads the servers of the agent's own settings. Of two with one name the
// first counts, as for the agents themselves.
func (d *draft) hostServers(m agent.MCP) map[string]agent.HostServer {
	out := map[string]agent.HostServer{}
	for _, f := range m.From {
		path := agent.Expand(f.Path, d.User.Home)
		data, err := readIfPresent(path, maxSettings)
		if err != nil || data == nil {
			continue
		}
		all, err := m.Servers(f, data, d.Workspaces[0].Path)
		if err != nil {
			d.notice(fmt.Sprintf("MCP servers of %s are not carried over: %v", plan.Show(f.Path), err))
			continue
		}
		for _, s := range all {
			if _, have := out[s.Name]; !have {
				out[s.Name] = s
			}
		}
	}
	return out
}

// offer lets the agent start one server that policy names.
func (d *draft) offer(s policy.Server, host map[string]agent.HostServer, entries map[string]any) {
	h, found := host[s.Name]
	switch {
	case len(s.Command) > 0 || found && h.Argv != nil:
		d.mcp.started = append(d.mcp.started, s.Name)
		if d.Profile.MCP.Path != "" {
			entries[s.Name] = d.Profile.MCP.Entry([]string{clientPath, s.Name})
		}
	case found:
		d.offerRemote(h, entries)
	case d.Profile.MCP.Path != "" || strings.HasPrefix(s.Source.File, "flag "):
		d.notice(fmt.Sprintf("MCP server %s (%s): neither policy nor the settings of %s say how it starts", s.Name, where(s.Source), d.Profile.Title))
	}
}

// offerRemote tells the agent of a server on the network, if nothing of it is secret.
// The rules of the network hold for it as for all else.
func (d *draft) offerRemote(h agent.HostServer, entries map[string]any) {
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		d.notice(fmt.Sprintf("MCP server %s is not carried over: its address is no URL", h.Name))
		return
	}
	if h.Secret {
		d.notice(fmt.Sprintf("MCP server %s at %s is remote and needs a credential, which stays outside: keep it with `ringfence secret set NAME --use bearer --host %[2]s`", h.Name, plan.Show(u.Hostname())))
	}
	if h.InURL {
		return
	}
	entries[h.Name] = d.Profile.MCP.Remote(h)
}

// leftOut says which servers of the host stay outside.
func (d *draft) leftOut(host map[string]agent.HostServer, entries map[string]any) {
	var out []string
	for name := range host {
		if entries[name] == nil && policy.CheckServerName(name) == nil && d.Policy.FindServer(name) == nil {
			out = append(out, name)
		} else if policy.CheckServerName(name) != nil {
			out = append(out, fmt.Sprintf("%.40q", name))
		}
	}
	if slices.Sort(out); len(out) > 0 {
		d.notice(fmt.Sprintf("MCP servers of the host stay outside: %s; --mcp NAME or [mcp.NAME] lets one in", strings.Join(out, ", ")))
	}
}

// tellServers writes the servers into what the agent reads.
func (d *draft) tellServers(m agent.MCP, entries map[string]any) error {
	path := agent.Expand(m.Path, d.User.Home)
	if m.Arg != "" {
		d.modelArgs = append(d.modelArgs, strings.ReplaceAll(m.Arg, agent.FileMark, path))
	}
	managed := slices.ContainsFunc(d.Profile.Managed, func(f agent.File) bool { return f.Path == m.Path })
	switch {
	case managed:
		data, err := m.TOML(entries)
		if err != nil {
			return err
		}
		d.mcp.managed, d.mcp.managedPath = data, m.Path
	case strings.HasPrefix(path, plan.Own+"/"):
		data, err := m.JSON(entries)
		if err != nil {
			return err
		}
		d.place(path, data, "leads the agent to its MCP servers")
	default:
		d.overlay(path, map[string]any{m.Key: entries})
	}
	return nil
}

// managedEnd is what a managed file of the agent's has at its end.
func (s *Session) managedEnd(path string) []byte {
	if s.mcp.managedPath != path {
		return nil
	}
	return append([]byte("\n"), s.mcp.managed...)
}

// PinBook is where is kept what a server of a project tells of itself.
func PinBook(state, project, name string) mcp.Book {
	return mcp.Book{Path: filepath.Join(serverDir(state, project, name), "pins.json")}
}

// serverDir is what ringfence keeps of a server in a project.
func serverDir(dir, project, name string) string {
	return filepath.Join(dir, "mcp", state.Key(project), name)
}
