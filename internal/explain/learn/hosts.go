package learn

import (
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// hosts proposes hosts, by a group where one is meant and by name and port elsewhere.
func (in Situation) hosts(all []Host, p *Proposal) {
	ports := map[string][]Host{}
	var names []string
	for _, h := range all {
		n, err := address.ParseName(h.Name)
		port := h.Port
		if h.guess = port == 0; h.guess {
			port = 443
		}
		if err != nil || in.reached(n, port) || h.guess && ports[h.Name] != nil {
			continue
		}
		if why := in.refuseHost(n, h); why != "" {
			p.not(h.String(), why)
			continue
		}
		h.Port = port
		if ports[h.Name] == nil {
			names = append(names, h.Name)
		}
		ports[h.Name] = append(ports[h.Name], h)
	}
	for _, g := range in.groups(ports) {
		p.Lines = append(p.Lines, g.line)
		names = slices.DeleteFunc(names, func(n string) bool { return slices.Contains(g.names, n) })
	}
	for _, n := range names {
		p.Lines = append(p.Lines, hostLines(n, ports[n])...)
	}
}

func (in Situation) reached(n address.Name, port uint16) bool {
	return slices.ContainsFunc(in.Reach.Allow, func(e policy.Entry) bool {
		_, on := e.Rule.On(port)
		return on && e.Rule.Whole() && e.Rule.Covers(n)
	})
}

func (in Situation) refuseHost(n address.Name, h Host) string {
	switch _, special := n.Special(); {
	case h.Refused != "":
		return h.Refused
	case special || n.Single():
		return "not a name of the public network"
	case n.Shared():
		return "anybody can have a name there"
	}
	for _, e := range in.Reach.Deny {
		if e.Rule.Covers(n) && (e.Rule.Port == 0 || e.Rule.Port == h.Port) {
			if e.Group != "" {
				return "denied by the group " + e.Group
			}
			return "denied by " + e.Source.String()
		}
	}
	return ""
}

type groupLine struct {
	line  Line
	names []string
}

// groups finds groups that are off and of which at least two hosts were wanted, on
// ports that the group gives.
func (in Situation) groups(ports map[string][]Host) []groupLine {
	var out []groupLine
	for _, g := range in.Policy.GroupsOn() {
		if g.On || g.Deny || in.Reach.Mode != "dev" {
			continue
		}
		gl := groupLine{line: Line{Section: "network", Key: "groups", Value: "+" + g.Name}}
		for name, hosts := range ports {
			if !slices.ContainsFunc(hosts, func(h Host) bool { return !gives(g.Group, h) }) {
				gl.names = append(gl.names, name)
				for _, h := range hosts {
					gl.line.Seen = max(gl.line.Seen, h.Count)
				}
			}
		}
		if len(gl.names) < 2 {
			continue
		}
		slices.Sort(gl.names)
		gl.line.Lets = fmt.Sprintf("%d hosts (%s): they can be sent to as well as read", len(g.Hosts), g.About)
		out = append(out, gl)
	}
	return out
}

func gives(g policy.Group, h Host) bool {
	return slices.ContainsFunc(g.Hosts, func(text string) bool {
		r, err := address.ParseRule(text)
		if err != nil {
			return false
		}
		_, on := r.On(h.Port)
		return on && r.Covers(address.Name(h.Name))
	})
}

// hostLines names a host with its ports; both usual ones are what the name alone means.
func hostLines(name string, hosts []Host) []Line {
	has := func(port uint16) bool { return slices.ContainsFunc(hosts, func(h Host) bool { return h.Port == port }) }
	both := has(443) && has(80)
	var out []Line
	for _, h := range hosts {
		value, port := h.String(), fmt.Sprintf("port %d", h.Port)
		if h.guess {
			port += " (a guess: only the name was asked for)"
		}
		if both && h.Port == 80 {
			continue
		}
		if both && h.Port == 443 {
			value, port = name, "ports 443 and 80"
		}
		out = append(out, Line{"network", "allow", value, h.Count, port + " of this host: it can be sent to as well as read"})
	}
	return out
}
