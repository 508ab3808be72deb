package policy

import (
	"path"
	"slices"

	"ringfence.dev/ringfence/internal/file"
)

// Tighten returns base as far as over allows it: never wider than base, and within
// every list that over wrote. A list that over did not write bounds nothing.
//
//   - Paths and exposed credentials: what both allow. A rule stays if a rule of
//     over covers it, and a rule of over joins if base covers it.
//   - Variables: those that over names too. A value is always base's.
//   - Masks and requirements: both.
//   - The rung: the higher, and one that both demand.
//   - Limits: the lower. Network: the tighter, see tightenNetwork.
//   - Workspaces: the tighter, see tightenWorkspace, and so the brakes on packages.
//   - The broker: the tighter, see tightenBroker. A secret is base's, and off where
//     either switches it off; so is an MCP server.
//
// Paths are compared as they are spelt, ~/ included. Resolve knows the home and
// compares what they mean.
func Tighten(base, over *Policy) *Policy { return scope{}.tighten(base, over) }

func (s scope) tighten(base, over *Policy) *Policy {
	if over == nil {
		return base.clone()
	}
	out := base.clone()
	s.tightenFiles(out, base, over)
	tightenEnv(out, over)
	tightenNetwork(out, over)
	s.tightenWorkspace(out, base, over)
	tightenBroker(&out.Broker, &over.Broker)
	tightenSupply(&out.Supply, &over.Supply)
	tightenTools(&out.Tools, &over.Tools)
	tightenAgent(&out.Agent, &over.Agent)
	tightenUnnamed(out, over)
	tightenScan(out, over)
	for _, n := range allNamed {
		n.tighten(out, over)
	}
	for i := range keys {
		if keys[i].limit == nil || keys[i].section != "limits" {
			continue
		}
		have, want := keys[i].limit(out), *keys[i].limit(over)
		if want != nil && (*have == nil || want.Value < (*have).Value) {
			*have = want
		}
	}
	tightenRung(out, over)
	if out.Require.Walls != nil { // nil means all of them already
		out.Require.Walls = join(out.Require.Walls, over.Require.Walls)
	}
	out.Require.Limits = join(out.Require.Limits, over.Require.Limits)
	return out
}

func (s scope) tightenFiles(out, base, over *Policy) {
	inBase, inOver := s.view(base, true), s.view(over, false)
	baseDirs, overDirs := s.workspaces(base, true), s.workspaces(over, false)
	overFiles := s.view(&Policy{Files: over.Files}, false)
	overWrite := s.view(&Policy{Files: Files{Write: over.Files.Write}}, false)

	out.Workspace.Paths = both(base.Workspace.Paths, over.Workspace.Paths, func(v string) bool {
		p, a := s.workspace(v)
		return min(overDirs.at(p), inOver.at(p)) >= a
	}, func(v string) bool {
		p, a := s.workspace(v)
		return min(baseDirs.at(p), inBase.at(p)) >= a
	})
	out.Files.Write = both(base.Files.Write, over.Files.Write, func(v string) bool {
		p := Expand(v, s.home)
		return min(overWrite.at(p), inOver.at(p)) == writable
	}, func(v string) bool { return inBase.at(Expand(v, s.home)) == writable })
	out.Files.Read = both(base.Files.Read, over.Files.Read,
		func(v string) bool { return overFiles.at(Expand(v, s.home)) >= readable },
		func(v string) bool { return inBase.at(Expand(v, s.home)) >= readable })
	out.Files.Expose = both(base.Files.Expose, over.Files.Expose, s.exposed(over), s.exposed(base))

	s.keepHoles(out, base, inBase)
	s.keepHoles(out, over, inOver)
	out.Files.Mask = join(out.Files.Mask, over.Files.Mask)
	s.pinMasks(out, base)
	s.pinMasks(out, over)
}

// both keeps what of base holds under over, and adds what of over lies within base.
func both(base, over List, holds, within func(string) bool) List {
	if over == nil {
		return base
	}
	out := List{}
	for _, r := range base {
		if holds(r.Value) {
			out = append(out, r)
		}
	}
	var more List
	for _, r := range over {
		if within(r.Value) {
			more = append(more, r)
		}
	}
	return join(out, more)
}

func (s scope) workspace(v string) (string, access) {
	dir, write := SplitWorkspace(v)
	if write {
		return Expand(dir, s.home), writable
	}
	return Expand(dir, s.home), readable
}

// exposed reports whether p exposes a path.
func (s scope) exposed(p *Policy) func(string) bool {
	g := s.view(&Policy{Files: Files{Read: p.Files.Expose}}, false)
	return func(v string) bool { return g.at(Expand(v, s.home)) != absent }
}

// keepHoles carries read-only places of from over to out where out would write.
// Dropping such a rule because the other side does not name it would widen.
func (s scope) keepHoles(out, from *Policy, view grants) {
	now := s.view(out, true)
	for _, g := range Grants(from, s.home) {
		_, named := now[g.Path]
		if !named && view.at(g.Path) == readable && now.at(g.Path) == writable {
			out.Files.Read = append(out.Files.Read, Rule{g.Path, g.Source})
		}
	}
}

// pinMasks makes relative masks absolute where the workspace that gave them their
// meaning is gone while part of it is still in view.
func (s scope) pinMasks(out, from *Policy) {
	dirs, view := s.workspaces(out, false), s.view(out, true)
	masks := slices.DeleteFunc(slices.Clone(from.Files.Mask), func(m Rule) bool { return !relative(m.Value) })
	if len(masks)*len(from.Workspace.Paths) > maxRules {
		masks = List{{Value: ".", Source: masks[0].Source}} // a hostile file: hide all rather than multiply
	}
	var pinned List
	for _, w := range from.Workspace.Paths {
		dir, _ := SplitWorkspace(w.Value)
		if _, still := dirs[Expand(dir, s.home)]; still {
			continue
		}
		for _, m := range masks {
			if view.touches(Expand(path.Join(dir, m.Value), s.home)) {
				pinned = append(pinned, Rule{path.Join(dir, m.Value), m.Source})
			}
		}
	}
	if len(pinned) > 0 {
		out.Files.Mask = join(out.Files.Mask, pinned)
	}
}

// touches reports whether p, or anything beneath it, is in view.
func (g grants) touches(p string) bool {
	if g.at(p) != absent {
		return true
	}
	for dir := range g {
		if file.Within(dir, p) {
			return true
		}
	}
	return false
}

func tightenEnv(out, over *Policy) {
	if over.Env.Set != nil {
		names := map[string]bool{}
		for _, o := range over.Env.Set {
			names[o.Name] = true
		}
		// A name both passed and set is set. Without its value the one of the host
		// would come through, so it is not passed either.
		for _, have := range out.Env.Set {
			if !names[have.Name] {
				out.Env.Pass = slices.DeleteFunc(out.Env.Pass, func(r Rule) bool { return r.Value == have.Name })
			}
		}
		out.Env.Set = slices.DeleteFunc(out.Env.Set, func(have Setting) bool { return !names[have.Name] })
	}
	out.Env.Pass = named(out.Env.Pass, over.Env.Pass)
	out.Env.Force = named(out.Env.Force, over.Env.Force)
}

// named keeps what of base over names too.
func named(base, over List) List {
	none := func(string) bool { return false }
	return both(base, over, over.has, none)
}
