package session

import (
	"slices"
	"sync"

	"ringfence.dev/ringfence/internal/session/launch"
	"ringfence.dev/ringfence/internal/session/lending"
	"ringfence.dev/ringfence/internal/session/registries"
	"ringfence.dev/ringfence/internal/session/trees"
)

// A part is one thing that a session has. It reads the base and no other part, so that
// it does not matter which is prepared first.
type Part struct {
	name    string
	prepare func(launch.Base) (launch.Contribution, error)
}

// parts are all that a session is made of.
func parts() []Part {
	return []Part{
		{"models", lending.Models}, {"mcp", prepareServers}, {"hosts", lending.Hosts}, {"program", launch.Program}, {"network", launch.Network},
		{longest, launch.Toolchains}, {"git", lending.Git}, {"grants", trees.Grants}, {"hooks", launch.Hooks}, {"supply", prepareSupply}, {"registries", registries.Part}, {"decoys", launch.Decoys}, {"tools", prepareTools},
	}
}

func PartOf(name string) Part {
	all := parts()
	return all[slices.IndexFunc(all, func(p Part) bool { return p.name == name })]
}

// A look is what depends on the sum of the parts: what is hidden, on all that is shown.
// Each sees what the looks before it added, and nothing else passes between them.
type look struct {
	name    string
	prepare func(*Session, launch.Contribution) (launch.Contribution, error)
}

func looks() []look {
	return []look{
		{"broker", LookBroker}, {"foreign", ofBase(trees.Foreign)}, {"sources", lookSources}, {"masks", lookMasks}, {"pretrust", lookTrust},
		{"settings", ofBase(launch.Settings)}, {"note", lookNote}, {"environment", lookEnvironment}, {"state", lookState}, {"toolbox", lookTools}, {"laid", ofBase(launch.LayDecoys)},
	}
}

// ofBase is a look that changes nothing of the session.
func ofBase(f func(launch.Base, launch.Contribution) (launch.Contribution, error)) func(*Session, launch.Contribution) (launch.Contribution, error) {
	return func(s *Session, total launch.Contribution) (launch.Contribution, error) { return f(s.Base, total) }
}

// rank is in which order the sum has what the parts and the looks add: that in which
// people read it, and in which the last of two variables of one name counts.
var rank = []string{"models", "mcp", "hosts", "program", "network", "toolchains", "git", "broker", "grants", "foreign", "sources", "masks", "pretrust",
	"settings", "note", "hooks", "supply", "registries", "decoys", "tools", "environment", "state", "toolbox", "laid"}

// sum is what was added, by the name of the part or the look.
type sum map[string]launch.Contribution

// PrepareParts asks parts what they add. The one that takes the longest is asked beside the
// others. If several refuse, it is the first in their order that is told.
func PrepareParts(b launch.Base, parts []Part) (sum, error) {
	added, refused := make([]launch.Contribution, len(parts)), make([]error, len(parts))
	prepare := func(i int) { added[i], refused[i] = parts[i].prepare(b) }
	var beside sync.WaitGroup
	if i := slices.IndexFunc(parts, func(p Part) bool { return p.name == longest }); i >= 0 {
		beside.Go(func() { prepare(i) })
	}
	for i, p := range parts {
		if p.name == longest {
			continue
		}
		if prepare(i); refused[i] != nil {
			break
		}
	}
	beside.Wait()
	all := sum{"": b.Said}
	for i, p := range parts {
		if refused[i] != nil {
			return nil, refused[i]
		}
		all[p.name] = added[i]
	}
	return all, nil
}

// longest is the name of the part that follows every entry of PATH and every link in them.
const longest = "toolchains"

// Total is the sum.
func (s sum) Total() launch.Contribution {
	out := launch.Contribution{}
	out.Add(s[""])
	for _, name := range rank {
		out.Add(s[name])
	}
	out.Settle()
	return out
}
