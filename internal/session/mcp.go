package session

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/mcp"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/agent"
	"ringfence.dev/ringfence/internal/sandbox/plan"
	"ringfence.dev/ringfence/internal/session/launch"
)

// servers are the MCP servers that policy names.
type servers struct {
	launch.Base
	launch.Contribution
	entries map[string]any // of the agent's settings
}

// prepareServers leads the agent to them. The agent's settings
// name a program of ours, which asks the supervisor for a server by its name: neither
// how it starts nor what it knows comes inside.
func prepareServers(b launch.Base) (launch.Contribution, error) {
	sv := &servers{Base: b, entries: map[string]any{}}
	if sv.Asked.Server != "" {
		return sv.Contribution, nil
	}
	err := sv.prepare(sv.Profile.MCP)
	return sv.Contribution, err
}

func (sv *servers) prepare(m agent.MCP) error {
	host, notices := hostServers(sv.Base, m)
	sv.Notices = notices
	if sv.NoNetwork() {
		if len(host)+len(sv.Policy.ServersOn()) > 0 {
			sv.Notice("MCP servers are not there without a network: the way to them is part of it")
		}
		return nil
	}
	sv.Offered = launch.Offered{Agent: sv.Profile.Name, Own: sv.Policy.OwnServerOn() && m.Path != ""}
	if sv.Offered.Own {
		sv.entries[policy.OwnServer] = m.Entry([]string{ClientPath, policy.OwnServer})
	}
	for _, s := range sv.Policy.ServersOn() {
		sv.offer(s, host)
	}
	for _, name := range sv.unnamed(host) {
		sv.offer(policy.Server{Name: name, Source: sv.Policy.Unnamed.Source}, host)
	}
	sv.leftOut(host)
	if len(sv.Offered.Started) == 0 && !sv.Offered.Own {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	sv.Mounts = append(sv.Mounts, plan.Mount{Src: self, Dst: ClientPath, Why: "asks the host for MCP servers"})
	if len(sv.entries) == 0 || m.Path == "" {
		return nil
	}
	return sv.tellAgent(m)
}

// ClientPath is where the program lies that asks for servers.
const ClientPath = launch.ClientDir + "/" + mcp.Client

// hostServers reads the servers of the agent's own settings. Of two with one name the
// first counts, as for the agents themselves.
func hostServers(b launch.Base, m agent.MCP) (map[string]agent.HostServer, []string) {
	var notices []string
	out := map[string]agent.HostServer{}
	for _, f := range m.From {
		path := agent.Expand(f.Path, b.User.Home)
		data, err := launch.ReadIfPresent(path, launch.MaxSettings)
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
		sv.Offered.Started = append(sv.Offered.Started, s.Name)
		if sv.Profile.MCP.Path != "" {
			sv.entries[s.Name] = sv.Profile.MCP.Entry([]string{ClientPath, s.Name})
		}
	case found:
		sv.offerRemote(h)
	case sv.Profile.MCP.Path != "" || strings.HasPrefix(s.Source.File, "flag "):
		sv.Notice(fmt.Sprintf("MCP server %s (%s): neither policy nor the settings of %s say how it starts", s.Name, s.Source.String(), sv.Profile.Title))
	}
}

// offerRemote tells the agent of a server on the network, if nothing of it is secret.
// The rules of the network hold for it as for all else.
func (sv *servers) offerRemote(h agent.HostServer) {
	u, err := url.Parse(h.URL)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		sv.Notice(fmt.Sprintf("MCP server %s is not carried over: its address is no URL", h.Name))
		return
	}
	if h.Secret {
		sv.Notice(fmt.Sprintf("MCP server %s at %s is remote and needs a credential, which stays outside: keep it with `ringfence secret set NAME --use bearer --host %[2]s`", h.Name, plan.Show(u.Hostname())))
	}
	if h.InURL {
		return
	}
	sv.entries[h.Name] = sv.Profile.MCP.Remote(h)
}

// unnamed are the servers of the host that come though no table names them.
func (sv *servers) unnamed(host map[string]agent.HostServer) []string {
	var out []string
	for name := range host {
		if sv.stays(name) && name != policy.OwnServer {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	switch sv.Policy.UnnamedServers() {
	case policy.UnnamedAll:
		return out
	case policy.UnnamedAsk:
		if ask := sv.Asked.AskServers; len(out) > 0 && ask != nil && !sv.Policy.Posture().Silent && ask(slices.Clone(out)) {
			return out
		}
	}
	return nil
}

// stays holds for a server of the host that could come, and that nobody named.
func (sv *servers) stays(name string) bool {
	return sv.entries[name] == nil && policy.CheckServerName(name) == nil && sv.Policy.FindServer(name) == nil
}

// leftOut says which servers of the host stay outside, and what brings them.
func (sv *servers) leftOut(host map[string]agent.HostServer) {
	var out, flags []string
	for _, name := range slices.Sorted(maps.Keys(host)) {
		switch {
		case sv.stays(name) && !slices.Contains(sv.Offered.Started, name):
			out, flags = append(out, name), append(flags, "--mcp "+name)
		case policy.CheckServerName(name) != nil:
			out = append(out, fmt.Sprintf("%.40q", name))
		}
	}
	if len(out) == 0 {
		return
	}
	how := "their names are none that ringfence takes"
	switch n := len(flags); {
	case n > 3:
		how = fmt.Sprintf("[mcp] default = %q in your policy brings them", policy.UnnamedAll)
	case n > 0:
		how = fmt.Sprintf("ringfence %s %s brings %s", sv.Profile.Name, strings.Join(flags, " "), plural(n, "it", "them"))
	}
	sv.Notice(fmt.Sprintf("MCP servers of the host stay outside: %s; %s", strings.Join(out, ", "), how))
}

// tellAgent writes the servers into what the agent reads.
func (sv *servers) tellAgent(m agent.MCP) error {
	path := agent.Expand(m.Path, sv.User.Home)
	if m.Arg != "" {
		sv.Args = append(sv.Args, strings.ReplaceAll(m.Arg, agent.FileMark, path))
	}
	managed := slices.ContainsFunc(sv.Profile.Managed, func(f agent.File) bool { return f.Path == m.Path })
	switch {
	case managed:
		data, err := m.TOML(sv.entries)
		if err != nil {
			return err
		}
		sv.Manage(m.Path, append([]byte("\n"), data...))
	case strings.HasPrefix(path, plan.Own+"/"):
		data, err := m.JSON(sv.entries)
		if err != nil {
			return err
		}
		sv.Put(path, data, "leads the agent to its MCP servers")
	default:
		sv.Overlay(path, map[string]any{m.Key: sv.entries})
	}
	return nil
}

// PinBook is where is kept what a server of a project tells of itself.
func PinBook(state, project, name string) mcp.Book {
	return mcp.Book{Path: filepath.Join(launch.ServerDir(state, project, name), "pins.json")}
}
