package policy

import (
	"slices"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// Group is a named list of hosts that a mode has on and that a switch turns.
type Group struct {
	Name  string   `json:"name"`
	About string   `json:"about"`
	Deny  bool     `json:"deny"`  // its hosts cannot be reached, whatever allows them
	Modes []string `json:"modes"` // where it is on unless switched off
	Hosts []string `json:"hosts"` // as address.ParseRule reads them
}

// Groups lists all groups in the order in which they are shown. The lists in them
// are shared: they are for reading.
func Groups() []Group { return slices.Clone(allGroups) }

// GroupHosts are the hosts of a group, as rules write them; none of a group that is not.
func GroupHosts(name string) []string {
	if g := findGroup(name); g != nil {
		return slices.Clone(g.Hosts)
	}
	return nil
}

func findGroup(name string) *Group {
	for i := range allGroups {
		if allGroups[i].Name == name {
			return &allGroups[i]
		}
	}
	return nil
}

// rule reads a host of the table.
func (g *Group) rule(host string) address.Rule { return plainRule(host) }

// plainRule reads a host of our own tables, which is plain: NAME, *.NAME or NAME:PORT
// in canonical spelling. A test holds it against ParseRule, which takes ten times as
// long, and a launch reads hundreds.
func plainRule(host string) address.Rule {
	var r address.Rule
	if i := strings.IndexByte(host, ':'); i >= 0 {
		n, _ := strconv.Atoi(host[i+1:])
		host, r.Port = host[:i], uint16(n)
	}
	host, r.Below = strings.CutPrefix(host, "*.")
	r.Name = address.Name(host)
	return r
}

// GroupState is a group as a policy has it.
type GroupState struct {
	Group
	On     bool   `json:"on"`
	Source Source `json:"source"` // of the switch or the mode that decides
}

// groupsIn holds for a mode in which groups that allow can be on. What is locked
// stays so, whatever a switch says.
func groupsIn(mode string) bool { return mode == dev || Wide(mode) }

// GroupsOn lists every group, on or off.
func (p *Policy) GroupsOn() []GroupState {
	var mode Rule
	if p.Network.Mode != nil {
		mode = *p.Network.Mode
	}
	turned := make(map[string]Rule, len(p.Network.Groups))
	for _, s := range p.Network.Groups {
		turned[switched(s.Value)] = s
	}
	out := make([]GroupState, len(allGroups))
	for i, g := range allGroups {
		out[i] = GroupState{Group: g, On: slices.Contains(g.Modes, mode.Value), Source: mode.Source}
		heard := groupsIn(mode.Value) || g.Deny && mode.Value == locked
		if s, ok := turned[g.Name]; ok && heard {
			out[i].On, out[i].Source = s.Value[0] == '+', s.Source
		}
	}
	return out
}
