package session

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/mcp"
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

// servers are the MCP servers that policy names.
type servers struct {
	Base
	Contribution
	entries map[string]any // of the agent's settings
}

// prepareServers leads the agent to them. The agent's settings
// name a program of ours, which asks the supervisor for a server by its name: neither
// how it starts nor what it knows comes inside.
func prepareServers(b Base) (Contribution, error) {
	sv := &servers{Base: b, entries: map[string]any{}}
	if sv.asked.Server != "" {
		return sv.Contribution, nil
	}
	err := sv.prepare(sv.Profile.MCP)
	return sv.Contribution, err
}

func (sv *servers) prepare(m agent.MCP) error {
	host, notices := hostServers(sv.Base, m)
	sv.notices = notices
	if sv.modeNone() {
		if len(host)+len(sv.Policy.ServersOn()) > 0 {
			sv.notice("MCP servers are not there without a network: the way to them is part of it")
		}
		return nil
	}
	sv.offered = offered{agent: sv.Profile.Name, own: sv.Policy.OwnServerOn() && m.Path != ""}
	if sv.offered.own {
		sv.entries[policy.OwnServer] = m.Entry([]string{clientPath, policy.OwnServer})
	}
	for _, s := range sv.Policy.ServersOn() {
		sv.offer(s, host)
	}
	sv.leftOut(host)
	if len(sv.offered.started) == 0 && !sv.offered.own {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	sv.mounts = append(sv.mounts, plan.Mount{Src: self, Dst: clientPath, Why: "asks the host for MCP servers"})
	if len(sv.entries) == 0 || m.Path == "" {
		return nil
	}
	return sv.tellAgent(m)
}

// clientPath is where the program lies that asks for servers.
const clientPath = clientDir + "/" + mcp.Client

// hostServers reads the servers of the agent's own settings. Of two with one name the
// first counts, as for the agents themselves.
func hostServers(b Base, m agent.MCP) (map[string]agent.HostServer, []string) {
	var notices []string
	out := map[string]agent.HostServer{}
	for _, f := range m.From {
		path := agent.Expand(f.Path, b.User.Home)
		data, err := readIfPresent(path, maxSettings)
		if err != nil || data == nil {
			continue
		}
		all, err := m.Servers(f, data, b.Workspaces[0].Path)
		if err != nil {
			notices = append(notices, fmt.Sprintf("MCP servers of %s are not carried over: %v", plan.Show(f.Path), err))
			continue
		}
		for _, s := range all {
			if _, have := out[s.Name]; !have {
				out[s.Name] = s
			}
		}
	}
	return out, notices
}

// offer lets the agent start one server that policy names.
func (sv *servers) offer(s policy.Server, host map[string]agent.HostServer) {
	h, found := host[s.Name]
	switch {
	case len(s.Command) > 0 || found && h.Argv != nil:
		sv.offered.started = append(sv.offered.started, s.Name)
		if sv.Profile.MCP.Path != "" {
			sv.entries[s.Name] = sv.Profile.MCP.Entry([]string{clientPath, s.Name})
		}
	case found:
		sv.offerRemote(h)
	case sv.Profile.MCP.Path != "" || strings.HasPrefix(s.Source.File, "flag "):
		sv.notice(fmt.Sprintf("MCP server %s (%s): neither policy nor the settings of %s say how it starts", s.Name, s.Source.String(), sv.Profile.Title))
	}
}

// offerRemote tells the agent of a server on the network, if nothing of it is secret.
// The rules of the network hold for it as for all else.
func (sv *servers) offerRemote(h agent.HostServer) {
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		sv.notice(fmt.Sprintf("MCP server %s is not carried over: its address is no URL", h.Name))
		return
	}
	if h.Secret {
		sv.notice(fmt.Sprintf("MCP server %s at %s is remote and needs a credential, which stays outside: keep it with `ringfence secret set NAME --use bearer --host %[2]s`", h.Name, plan.Show(u.Hostname())))
	}
	if h.InURL {
		return
	}
	sv.entries[h.Name] = sv.Profile.MCP.Remote(h)
}

// leftOut says which servers of the host stay outside.
func (sv *servers) leftOut(host map[string]agent.HostServer) {
	var out []string
	for name := range host {
		if sv.entries[name] == nil && policy.CheckServerName(name) == nil && sv.Policy.FindServer(name) == nil {
			out = append(out, name)
		} else if policy.CheckServerName(name) != nil {
			out = append(out, fmt.Sprintf("%.40q", name))
		}
	}
	if slices.Sort(out); len(out) > 0 {
		sv.notice(fmt.Sprintf("MCP servers of the host stay outside: %s; --mcp NAME or [mcp.NAME] lets one in", strings.Join(out, ", ")))
	}
}

// tellAgent writes the servers into what the agent reads.
func (sv *servers) tellAgent(m agent.MCP) error {
	path := agent.Expand(m.Path, sv.User.Home)
	if m.Arg != "" {
		sv.args = append(sv.args, strings.ReplaceAll(m.Arg, agent.FileMark, path))
	}
	managed := slices.ContainsFunc(sv.Profile.Managed, func(f agent.File) bool { return f.Path == m.Path })
	switch {
	case managed:
		data, err := m.TOML(sv.entries)
		if err != nil {
			return err
		}
		sv.manage(m.Path, append([]byte("\n"), data...))
	case strings.HasPrefix(path, plan.Own+"/"):
		data, err := m.JSON(sv.entries)
		if err != nil {
			return err
		}
		sv.put(path, data, "leads the agent to its MCP servers")
	default:
		sv.overlay(path, map[string]any{m.Key: sv.entries})
	}
	return nil
}

// PinBook is where is kept what a server of a project tells of itself.
func PinBook(state, project, name string) mcp.Book {
	return mcp.Book{Path: filepath.Join(serverDir(state, project, name), "pins.json")}
}

// serverDir is what ringfence keeps of a server in a project.
func serverDir(dir, project, name string) string {
	return filepath.Join(dir, "mcp", state.Key(project), name)
}
