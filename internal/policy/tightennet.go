package policy

import "slices"

// tightenNetwork takes from over what can only take away.
//
//   - Hosts and addresses: what both lists allow. What a mode or a group of base
//     gives lets no rule of over join: a later layer that switches it off must not
//     find it in the list.
//   - Groups: those that allow go off, those that deny go on.
//   - Denials: both. Ports: those that both name. Budgets: both, and the lower.
//   - The proxy is base's: where traffic goes is not a matter of more or less.
func tightenNetwork(out, over *Policy) {
	n, o := &out.Network, &over.Network
	if o.Mode != nil && width(o.Mode) < width(n.Mode) {
		n.Mode = o.Mode
	}
	n.Groups = tightenGroups(n.Groups, o.Groups)
	if o.Allow != nil {
		mine, theirs := hostsOf(n.Allow), hostsOf(o.Allow)
		n.Allow = both(n.Allow, o.Allow, theirs.covers(mine), mine.covers(theirs))
	}
	if o.IP != nil {
		n.IP = both(n.IP, o.IP, rangesOf(o.IP).covers, rangesOf(n.IP).covers)
	}
	n.Deny = join(n.Deny, o.Deny)
	n.Publish = shared(n.Publish, o.Publish)
	n.HostPorts = shared(n.HostPorts, o.HostPorts)
	n.Budget = mergeBudget(n.Budget, o.Budget, func(base, over int64) bool { return over < base })
}

func tightenGroups(base, over List) List {
	out := slices.Clone(base)
	for _, r := range over {
		if tightening(r.Value) {
			out = turn(out, r)
		}
	}
	return out
}

// shared is named for long lists.
func shared(base, over List) List {
	have := over.set()
	return both(base, over, func(v string) bool { return have[v] }, func(string) bool { return false })
}

func (l List) set() map[string]bool {
	out := make(map[string]bool, len(l))
	for _, r := range l {
		out[r.Value] = true
	}
	return out
}
