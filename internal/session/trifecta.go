package session

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/audit"
	"ringfence.dev/ringfence/internal/policy"
	"ringfence.dev/ringfence/internal/policy/environ"
	"ringfence.dev/ringfence/internal/session/launch"
)

// Trifecta reads the meter for a prepared session: what of the three legs is there.
func (s *Session) Trifecta() audit.Trifecta { return audit.Meter(exposure(s)) }

func exposure(s *Session) audit.Exposure {
	e := audit.Exposure{Network: launch.ModeNone, Brokered: s.Keys}
	for _, ws := range s.Workspaces {
		e.Workspaces = append(e.Workspaces, ws.Path)
	}
	e.Secrets = visibleSecrets(s)
	for _, list := range []policy.List{s.Policy.Files.Read, s.Policy.Files.Write} {
		for _, r := range list {
			e.Granted = append(e.Granted, r.Value)
		}
	}
	if s.Mode() != launch.ModeNone {
		reached(s, &e)
	}
	e.Model = e.Network != launch.ModeNone && len(s.Profile.Models) > 0
	if e.Network != launch.ModeNone {
		for _, m := range s.Policy.ServersOn() {
			e.Servers = append(e.Servers, m.Name)
			if audit.Carrier(m.Name+" "+strings.Join(m.Command.Values(), " ")) != "" {
				e.Readers = append(e.Readers, "MCP server "+m.Name)
			}
		}
		for _, name := range s.Offered.Started { // that nobody named, and all were to come
			if !slices.Contains(e.Servers, name) {
				e.Servers, e.Readers = append(e.Servers, name), append(e.Readers, "MCP server "+name)
			}
		}
	}
	e.Provider = s.Policy.ModelFeatures()
	originOf(s, &e)
	return e
}

// visible are the credentials that are seen inside as they are.
func visibleSecrets(s *Session) (out []string) {
	for _, r := range s.Policy.Files.Expose {
		out = append(out, r.Value)
	}
	for _, r := range s.Policy.Workspace.Reveal {
		out = append(out, r.Value)
	}
	for _, v := range s.Env.Of(environ.Added) {
		if launch.SecretVariable(v.Name) {
			out = append(out, v.Name)
		}
	}
	return out
}

// reached fills in the network.
func reached(s *Session, e *audit.Exposure) {
	e.Network = s.Reach.Mode
	for _, a := range s.Policy.Network.Allow {
		e.Hosts = append(e.Hosts, a.Value)
	}
	for _, a := range s.Reach.Allow {
		if _, shared := a.Rule.Shared(); shared && a.Group == "" {
			e.Anyone = append(e.Anyone, a.Text)
		}
	}
	for _, d := range s.Reach.IP {
		e.Devices = append(e.Devices, d.Text)
	}
	for _, p := range s.Reach.HostPorts {
		e.Devices = append(e.Devices, fmt.Sprintf("port %d of the host", p))
	}
	for _, p := range s.Reach.Publish {
		e.Publish = append(e.Publish, fmt.Sprint(p.Inside))
	}
}

// origin fills in whose the repository is, and what can be pushed.
func originOf(s *Session, e *audit.Exposure) {
	if s.Repo == nil {
		return
	}
	remotes, err := s.Repo.Remotes()
	if err != nil {
		return
	}
	if foreign := audit.Foreign(remotes, audit.OwnNames(audit.World{Home: s.User.Home, Environ: s.envInput.Launcher})); len(foreign) > 0 && len(foreign) == len(remotes) {
		e.Foreign = fmt.Sprintf("the repository is not in a name of yours: %s/%s", foreign[0].Host, foreign[0].Path)
	}
	for _, k := range s.Keys {
		for _, r := range remotes {
			if strings.HasPrefix(k, r.Host+" by ") {
				e.Push = append(e.Push, r.Host+"/"+r.Path)
			}
		}
	}
}
