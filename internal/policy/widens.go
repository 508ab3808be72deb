package policy

import (
	"fmt"
	"slices"
)

// Change is one rule that would widen a policy.
type Change struct {
	Section string `json:"section"`
	Key     string `json:"key"`
	Value   string `json:"value"`
	Removed bool   `json:"removed,omitempty"` // a requirement that would fall
	Never   string `json:"never,omitempty"`   // why no trust in the project changes that; "": trust does
	Source  Source `json:"source"`
}

// Ignored says that a wish of a project's file is not heard, and why where trust would not help.
func (c Change) Ignored() string {
	if c.Never != "" {
		return "ignored: " + c.String() + ": " + c.Never
	}
	return "not trusted, ignored: " + c.String()
}

// String is a line of a diff.
func (c Change) String() string {
	sign := "+"
	if c.Removed {
		sign = "-"
	}
	line := fmt.Sprintf("%s [%s] %s %q", sign, c.Section, c.Key, c.Value)
	if c.Source.File != "" {
		line += fmt.Sprintf("   (%s)", c.Source)
	}
	return line
}

// Widens lists what of over base does not allow already, in the order of the
// keys. If there is nothing, Merge(base, over) allows no more than base.
func Widens(base, over *Policy) []Change { return scope{}.widens(base, over) }

func (s scope) widens(base, over *Policy) []Change {
	if over == nil {
		return nil
	}
	var out []Change
	for i := range keys {
		k := &keys[i]
		add := func(value string, src Source) {
			out = append(out, Change{Section: k.section, Key: k.name, Value: value, Source: src})
		}
		switch {
		case k.section == "workspace" && k.name != "paths":
			for _, w := range s.widensWorkspace(k, base, over) {
				add(w.Value, w.Source)
			}
		case k.limit != nil && k.section != "rung":
			if have, want := *k.limit(base), *k.limit(over); want != nil && have != nil && want.Value > have.Value {
				add(formatLimit(k, want.Value), want.Source)
			}
		case k.section == "network":
			for _, w := range widensNetwork(k, base, over) {
				add(w.Value, w.Source)
			}
		case k.section == "broker":
			for _, w := range widensBroker(k, base, over) {
				add(w.Value, w.Source)
			}
		case k.section == "project": // which takes away alone, see Resolve
		case k.section == "agent":
			for _, w := range widensAgent(k, base, over) {
				add(w.Value, w.Source)
			}
		case k.section == "scan":
			for _, w := range widensScan(base, over) {
				add(w.Value, w.Source)
			}
		case k.section == serverSection:
			for _, w := range widensUnnamed(base, over) {
				add(w.Value, w.Source)
			}
		case k.section == "supply":
			for _, w := range widensSupply(k, base, over) {
				add(w.Value, w.Source)
			}
		case k.section == "tools":
			for _, w := range widensTools(k, base, over) {
				add(w.Value, w.Source)
			}
		case k.table != nil:
			for _, v := range over.Env.Set {
				if !slices.ContainsFunc(base.Env.Set, func(b Setting) bool { return b.Name == v.Name && b.Value == v.Value }) {
					add(v.Name+"="+v.Value, v.Source)
				}
			}
		case k.section != "require" && k.section != "rung": // see waived and lowered
			allowed := s.allows(k, base)
			for _, r := range *k.list(over) {
				if !allowed(r.Value) {
					add(r.Value, r.Source)
				}
			}
		}
	}
	out = append(append(out, waived(base, over)...), lowered(base, over)...)
	for _, n := range allNamed {
		out = append(out, n.widens(base, over)...)
	}
	return out
}

// allows returns the test whether base has what a value of the list k gives.
func (s scope) allows(k *key, base *Policy) func(string) bool {
	view := s.view(base, true)
	switch k.name {
	case "paths":
		dirs, elsewhere := s.workspaces(base, true), s.elsewhere(base)
		return func(v string) bool {
			p, a := s.workspace(v)
			return min(dirs.at(p), view.at(p)) >= a && !elsewhere(p)
		}
	case "read", "write":
		least, elsewhere := map[string]access{"read": readable, "write": writable}[k.name], s.elsewhere(base)
		return func(v string) bool {
			p := Expand(v, s.home)
			return view.at(p) >= least && !elsewhere(p)
		}
	case "expose":
		return s.exposed(base)
	case "pass":
		return func(v string) bool {
			return base.Env.Pass.has(v) && !slices.ContainsFunc(base.Env.Set, func(b Setting) bool { return b.Name == v })
		}
	case "force":
		return base.Env.Force.has
	}
	return func(string) bool { return true } // a mask takes away
}

// waived lists the walls that base requires and over's list leaves out.
func waived(base, over *Policy) []Change {
	if over.Require.Walls == nil {
		return nil
	}
	var src Source
	if len(over.Require.Walls) > 0 {
		src = over.Require.Walls[0].Source
	}
	var out []Change
	for _, w := range WallNames() {
		required := base.Require.Walls == nil || base.Require.Walls.has(w)
		if required && !over.Require.Walls.has(w) {
			out = append(out, Change{Section: "require", Key: "walls", Value: w, Removed: true, Source: src})
		}
	}
	return out
}
