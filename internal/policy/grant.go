package policy

import "strings"

// Grant is one path of the host that joins the view.
type Grant struct {
	Path      string
	Write     bool
	Workspace bool // relative masks apply beneath it
	Source    Source
}

// Grants reads workspaces, write and read rules as one list, a path once. The
// nearest grant above a path decides, as with mounts: a read rule beneath a
// writable path takes writing away there. Of two rules for one path the wider
// holds. Masks are not looked at: they beat every grant.
func Grants(p *Policy, home string) []Grant {
	var out []Grant
	index := map[string]int{}
	add := func(g Grant) {
		i, have := index[g.Path]
		if !have {
			index[g.Path] = len(out)
			out = append(out, g)
			return
		}
		if g.Write && !out[i].Write {
			out[i].Write, out[i].Source = true, g.Source
		}
		out[i].Workspace = out[i].Workspace || g.Workspace
	}
	for _, r := range p.Workspace.Paths {
		dir, write := SplitWorkspace(r.Value)
		add(Grant{Expand(dir, home), write, true, r.Source})
	}
	for _, r := range p.Files.Write {
		add(Grant{Expand(r.Value, home), true, false, r.Source})
	}
	for _, r := range p.Files.Read {
		add(Grant{Expand(r.Value, home), false, false, r.Source})
	}
	return out
}

// access is what a policy gives at a path.
type access int

const (
	absent access = iota
	readable
	writable
)

// grants is a view, indexed by path so that a lookup costs the depth of the
// path and not the number of rules.
type grants map[string]access

func (g grants) add(path string, write bool) {
	a := readable
	if write {
		a = writable
	}
	g[path] = max(g[path], a)
}

// at returns what the nearest grant gives.
func (g grants) at(path string) access {
	for {
		if a, ok := g[path]; ok {
			return a
		}
		i := strings.LastIndexByte(path, '/')
		switch {
		case path == "/" || i < 0:
			return absent
		case i == 0:
			path = "/"
		default:
			path = path[:i]
		}
	}
}

// scope is what a comparison of paths needs to know besides the two policies.
type scope struct {
	home  string
	roots []string // read-write workspaces of the session itself
}

// view returns every grant of p, and those of the session if own is set.
func (s scope) view(p *Policy, own bool) grants {
	out := grants{}
	for _, g := range Grants(p, s.home) {
		out.add(g.Path, g.Write)
	}
	if own {
		for _, r := range s.roots {
			out.add(Expand(r, s.home), true)
		}
	}
	return out
}

// workspaces returns the grants of p's workspaces alone.
func (s scope) workspaces(p *Policy, own bool) grants {
	return s.view(&Policy{Workspace: p.Workspace}, own)
}
