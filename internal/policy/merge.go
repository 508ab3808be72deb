package policy

import "slices"

// clone copies p so far that no list is shared. A nil list stays nil, an empty
// one stays empty: the two mean different things.
func (p *Policy) clone() *Policy {
	out := *p
	for i := range keys {
		if k := &keys[i]; k.list != nil {
			*k.list(&out) = slices.Clone(*k.list(p))
		}
	}
	out.Env.Set = slices.Clone(p.Env.Set)
	return &out
}

func (l List) has(value string) bool {
	return slices.ContainsFunc(l, func(r Rule) bool { return r.Value == value })
}

// join appends what of over is not there yet.
func join(base, over List) List {
	if over == nil {
		return base
	}
	if base == nil {
		base = List{}
	}
	have := make(map[string]bool, len(base))
	for _, r := range base {
		have[r.Value] = true
	}
	for _, r := range over {
		if !have[r.Value] {
			have[r.Value] = true
			base = append(base, r)
		}
	}
	return base
}

// Merge lays over upon base and may widen it: lists are joined in order, each rule
// keeping its first source; numbers, the mode and values of variables are over's
// where it has them. Two exceptions: required walls are replaced, which is how a
// wall is waived, and a variable is either passed or set, as over says.
func Merge(base, over *Policy) *Policy {
	if over == nil {
		return base.clone()
	}
	out := base.clone()
	for i := range keys {
		k := &keys[i]
		switch {
		case k.list != nil:
			*k.list(out) = join(*k.list(out), *k.list(over))
		case k.limit != nil && *k.limit(over) != nil:
			*k.limit(out) = *k.limit(over)
		}
	}
	if over.Require.Walls != nil {
		out.Require.Walls = slices.Clone(over.Require.Walls)
	}
	if over.Network.Mode != nil {
		out.Network.Mode = over.Network.Mode
	}
	mergeSet(out, over)
	return out
}

func mergeSet(out, over *Policy) {
	out.Env.Set = slices.DeleteFunc(out.Env.Set, func(s Setting) bool { return over.Env.Pass.has(s.Name) })
	if over.Env.Set == nil {
		return
	}
	if out.Env.Set == nil {
		out.Env.Set = []Setting{}
	}
	for _, s := range over.Env.Set {
		if !over.Env.Pass.has(s.Name) {
			out.Env.Pass = slices.DeleteFunc(out.Env.Pass, func(r Rule) bool { return r.Value == s.Name })
		}
		i := slices.IndexFunc(out.Env.Set, func(have Setting) bool { return have.Name == s.Name })
		if i < 0 {
			out.Env.Set = append(out.Env.Set, s)
		} else {
			out.Env.Set[i] = s
		}
	}
}
