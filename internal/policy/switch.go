package policy

import (
	"fmt"
	"slices"
	"strings"

	"ringfence.dev/ringfence/internal/fault"
)

// switches lists every switch there is.
func switches() []string {
	out := make([]string, 0, 2*len(allGroups))
	for i := range allGroups {
		out = append(out, "+"+allGroups[i].Name, "-"+allGroups[i].Name)
	}
	return out
}

// switched is the name in a switch, without its sign.
func switched(v string) string {
	if v == "" {
		return ""
	}
	return v[1:]
}

func checkSwitch(v string) error {
	if v == "" || v[0] != '+' && v[0] != '-' {
		return fmt.Errorf("%q is no switch: write +NAME or -NAME", v)
	}
	if findGroup(v[1:]) == nil {
		return fmt.Errorf("there is no group %q; ringfence policy groups lists them", v[1:])
	}
	return nil
}

// tightening holds for a switch that can only take away: an allow group off, a
// deny group on.
func tightening(v string) bool {
	g := findGroup(switched(v))
	return g != nil && g.Deny == (v[0] == '+')
}

// turn lays one switch upon others: what they said of its group is gone.
func turn(list List, r Rule) List {
	if list.has(r.Value) {
		return list
	}
	list = slices.DeleteFunc(list, func(have Rule) bool { return switched(have.Value) == switched(r.Value) })
	return append(list, r)
}

// ParseNet reads the value of --net: a mode, switches, or a mode and switches,
// with commas between. The mode is "" where none is given.
func ParseNet(s string) (mode string, groups []string, err error) {
	words := strings.Split(s, ",")
	if s != "" && s[0] != '+' && s[0] != '-' {
		if mode = words[0]; !slices.Contains(modes, mode) {
			return "", nil, noMode(mode)
		}
		words = words[1:]
	}
	for i, w := range words {
		if err := checkSwitch(w); err != nil {
			return "", nil, fault.New(fault.Usage, suggest(w, switches()), "--net: %w", err)
		}
		if slices.ContainsFunc(words[:i], func(have string) bool { return switched(have) == switched(w) }) {
			return "", nil, fault.New(fault.Usage, "", "--net: the group %q is switched twice", switched(w))
		}
		if mode != "" && !groupsIn(mode) && w[0] == '+' && !tightening(w) {
			return "", nil, fault.New(fault.Usage, "--net "+dev+","+w, "--net: mode %s has no groups to switch on", mode)
		}
	}
	return mode, words, nil
}

func noMode(got string) error {
	hint := suggest(got, modes)
	if findGroup(got) != nil {
		hint = fmt.Sprintf("a group is switched by +%s or -%s", got, got)
	}
	if hint == "" {
		hint = "the modes are: " + strings.Join(modes, ", ")
	}
	return fault.New(fault.Usage, hint, "--net: there is no mode %q", got)
}
