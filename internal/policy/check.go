package policy

import (
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/file"
)

// Problem is a rule that cannot be enforced as it is written.
type Problem struct {
	Source Source `json:"source"`
	Text   string `json:"text"`
}

// CheckEnv is what Check knows of the session.
type CheckEnv struct {
	Home       string
	Workspaces []string // absolute
}

// own are places inside that ringfence makes itself: nothing of the host's could
// join there without hiding or leaking what it isolates.
var own = []string{"/proc", "/sys", "/dev"}

// system are the places that are read-only inside, whatever a policy says.
var system = []string{"/usr", "/etc", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot"}

// floors are the least with which a session can start and do anything at all.
var floors = map[string]int64{"pids": 32, "memory": 32 << 20, "tmp": 1 << 20, "home": 1 << 20, "shm": 1 << 16, "open": 64}

// tops are the most that a number can mean.
var tops = map[string]int64{"memory-share": 100}

// Check lists the rules of p that cannot be enforced. It looks at no file.
func Check(p *Policy, env CheckEnv) []Problem {
	c := checker{p: p, env: env}
	c.contradictions()
	c.grants()
	c.masks()
	c.variables()
	c.limits()
	c.walls()
	c.hosts()
	c.ports()
	c.reveals()
	c.secrets()
	c.servers()
	return append(c.found, p.Refused...)
}

type checker struct {
	p     *Policy
	env   CheckEnv
	found []Problem
}

func (c *checker) add(src Source, format string, args ...any) {
	c.found = append(c.found, Problem{src, fmt.Sprintf(format, args...)})
}

// contradictions are paths that are to be both written and not.
func (c *checker) contradictions() {
	for _, r := range c.p.Files.Read {
		for _, w := range c.p.Files.Write {
			if p := Expand(r.Value, c.env.Home); p == Expand(w.Value, c.env.Home) {
				c.add(r.Source, "%q is to be read-only here and writable in %s: say one", p, w.Source)
			}
		}
	}
}

func (c *checker) grants() {
	for _, g := range Grants(c.p, c.env.Home) {
		in := func(dir string) bool { return file.Within(g.Path, dir) }
		switch {
		case g.Path == "/":
			c.add(g.Source, "%q is the whole host: name what is needed of it", g.Path)
		case c.env.Home != "" && file.Within(Expand(c.env.Home, ""), g.Path):
			c.add(g.Source, "%q holds the whole home directory and every credential in it: name what is needed of it", g.Path)
		case slices.ContainsFunc(own, in) || g.Path == "/run":
			c.add(g.Source, "%q is made by ringfence itself and cannot be the host's", g.Path)
		case g.Write && slices.ContainsFunc(system, in):
			c.add(g.Source, "%q belongs to the system, which is read-only inside", g.Path)
		}
	}
}

func (c *checker) masks() {
	s := scope{home: c.env.Home, roots: c.env.Workspaces}
	view, dirs := s.view(c.p, true), s.workspaces(c.p, true)
	for _, m := range c.p.Files.Mask {
		if relative(m.Value) {
			if len(dirs) == 0 {
				c.add(m.Source, "mask %q is relative and there is no workspace", m.Value)
			}
			continue
		}
		at := Expand(m.Value, c.env.Home)
		if !view.touches(at) {
			c.add(m.Source, "mask %q hides nothing: it is in no workspace and in no path that is read or written", m.Value)
		} else if view[at] == writable {
			c.add(m.Source, "%q is both written and masked", m.Value)
		}
	}
}

func (c *checker) variables() {
	set := map[string]bool{}
	for _, s := range c.p.Env.Set {
		set[s.Name] = true
		if c.p.Env.Pass.has(s.Name) {
			c.add(s.Source, "%s is both passed and set", s.Name)
		}
	}
	for _, f := range c.p.Env.Force {
		if !set[f.Value] && !c.p.Env.Pass.has(f.Value) {
			c.add(f.Source, "%s is forced but neither passed nor set", f.Value)
		}
	}
}

// walls refuses a list that leaves one out: a wall that cannot be raised would be a
// warning then, and the agent would run without it.
func (c *checker) walls() {
	if c.p.Require.Walls == nil {
		return
	}
	var src Source
	for _, r := range c.p.Require.Walls {
		src = r.Source
	}
	for _, w := range WallNames() {
		if !c.p.Require.Walls.has(w) {
			c.add(src, "[require] walls leaves out %q: every wall must stand; take `walls` out of the file", w)
		}
	}
}

func (c *checker) limits() {
	for i := range keys {
		k := &keys[i]
		if k.limit == nil || k.section == "rung" { // sizes of a machine, which it judges itself
			continue
		}
		l := *k.limit(c.p)
		if l != nil && l.Value < floors[k.name] {
			c.add(l.Source, "%s %s is too low for a session to start: at least %s", k, formatLimit(k, l.Value), formatLimit(k, floors[k.name]))
		}
		if top := tops[k.name]; l != nil && top > 0 && l.Value > top {
			c.add(l.Source, "%s %s is more than there can be: at most %s", k, formatLimit(k, l.Value), formatLimit(k, top))
		}
		for _, r := range c.p.Require.Limits {
			if k.section == "limits" && r.Value == k.name && l == nil && (k.name != "memory" || c.p.Limits.Share == nil) {
				c.add(r.Source, "the limit %s is required but [limits] sets none", k.name)
			}
		}
	}
}
