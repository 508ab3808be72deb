package policy

import "slices"

// clone copies p so far that no list is shared. A nil list stays nil, an empty
// one stays empty: the two mean different things.
func (p *Policy) clone() *Policy {
	out := *p
	for i := range keys {
		switch k := &keys[i]; {
		case k.list != nil:
			*k.list(&out) = slices.Clone(*k.list(p))
		case k.table != nil:
			*k.table.at(&out) = slices.Clone(*k.table.at(p))
		}
	}
	out.Secret = slices.Clone(p.Secret) // its lists are never changed, only replaced
	out.MCP = slices.Clone(p.MCP)
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
// keeping its first source; numbers, words, budgets and values of variables are
// over's where it has them. Five exceptions: required rungs are replaced, and so are
// required walls (Check then refuses a list that leaves one out); a variable is either passed or set, as over says; a group is
// switched one way; and a secret or an MCP server is over's as a whole, see
// tables.merge.
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
		case k.word != nil && *k.word(over) != nil:
			*k.word(out) = *k.word(over)
		case k.flag != nil && *k.flag(over) != nil:
			*k.flag(out) = *k.flag(over)
		}
	}
	if over.Require.Rung != nil {
		out.Require.Rung = slices.Clone(over.Require.Rung)
	}
	if over.Require.Walls != nil {
		out.Require.Walls = slices.Clone(over.Require.Walls)
	}
	mergeSet(out, over)
	for _, n := range allNamed {
		n.merge(out, over)
	}
	out.Network.Groups = mergeGroups(base.Network.Groups, over.Network.Groups)
	out.Network.Budget = mergeBudget(out.Network.Budget, over.Network.Budget, func(_, _ int64) bool { return true })
	return out
}

func mergeGroups(base, over List) List {
	if over == nil {
		return slices.Clone(base)
	}
	out := append(List{}, base...)
	for _, r := range over {
		out = turn(out, r)
	}
	return out
}

// mergeBudget adds over's budgets to base's. Where both name a host, over's is
// taken if take says so of the two.
func mergeBudget(base, over []Setting, take func(base, over int64) bool) []Setting {
	if over == nil {
		return base
	}
	if base == nil {
		base = []Setting{}
	}
	at := make(map[string]int, len(base))
	for i, s := range base {
		at[plainHost(s.Name)] = i
	}
	for _, s := range over {
		i, have := at[plainHost(s.Name)]
		switch {
		case !have:
			at[plainHost(s.Name)] = len(base)
			base = append(base, s)
		case take(budget(base[i]), budget(s)):
			base[i] = s
		}
	}
	return base
}

// budget is the number of a budget; what cannot be read sends nothing.
func budget(s Setting) int64 {
	n, err := ParseBytes(s.Value)
	if err != nil {
		return 0
	}
	return n
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
