package policy

import "ringfence.dev/ringfence/internal/address"

// widensNetwork lists what of one key of over base does not give already.
func widensNetwork(k *key, base, over *Policy) List {
	var out List
	add := func(value string, src Source) { out = append(out, Rule{value, src}) }
	b, o := &base.Network, &over.Network
	switch k.name {
	case "mode":
		if width(o.Mode) > width(b.Mode) {
			add(o.Mode.Value, o.Mode.Source)
		}
	case "proxy":
		if o.Proxy != nil && o.Proxy.Value != upstreamOf(base) {
			add(o.Proxy.Value, o.Proxy.Source)
		}
	case "budget":
		most := map[string]int64{}
		for _, s := range b.Budget {
			most[plainHost(s.Name)] = budget(s)
		}
		for _, s := range o.Budget {
			if n, have := most[plainHost(s.Name)]; have && budget(s) > n {
				add(s.Name+"="+s.Value, s.Source)
			}
		}
	default:
		allowed := allowsNetwork(k, base, over)
		for _, r := range *k.list(over) {
			if !allowed(r.Value) {
				add(r.Value, r.Source)
			}
		}
	}
	return out
}

// allowsNetwork returns the test whether base has what a value of the list k gives.
func allowsNetwork(k *key, base, over *Policy) func(string) bool {
	list := *k.list(base)
	switch {
	case k.name == "deny" || *k.list(over) == nil:
		return func(string) bool { return true }
	case k.name == "groups":
		return switchesOf(base)
	case k.name == "allow":
		return reached(base)
	case k.name == "ip":
		return rangesOf(list).covers
	}
	have := list.set()
	return func(v string) bool { return have[v] }
}

// switchesOf returns the test whether a switch changes nothing that base has, or
// only takes away. A group that denies counts as on in mode none too: the mode may
// be another one tomorrow.
func switchesOf(base *Policy) func(string) bool {
	same := base.Network.Groups.set()
	for _, g := range base.GroupsOn() {
		if !g.Deny && (g.On || open(base)) { // a host of a group is public
			same["+"+g.Name] = true
		}
	}
	return func(v string) bool { return tightening(v) || same[v] }
}

// reached returns the test whether base's list, groups or mode give all that a
// rule does. It may say no where several rules together would do.
func reached(base *Policy) func(string) bool {
	h := hostsOf(base.Network.Allow)
	for _, g := range base.GroupsOn() {
		if g.On && !g.Deny {
			for _, host := range g.Hosts {
				h.add(g.rule(host))
			}
		}
	}
	all := open(base)
	return func(v string) bool {
		r, err := parseHost(v)
		return err == nil && (all && public(r) || h.cover(r))
	}
}

func open(p *Policy) bool { return p.Network.Mode != nil && Wide(p.Network.Mode.Value) }

// public holds for a rule that gives no more than any public host does: a name of
// the public network, TLS on 443 and HTTP on 80.
func public(r address.Rule) bool {
	if _, special := r.Name.Special(); special || r.Name.Single() {
		return false
	}
	tls, on443 := r.On(443)
	plain, on80 := r.On(80)
	return (!on443 || tls == address.TLS) && (!on80 || plain == address.HTTP)
}

func upstreamOf(p *Policy) string {
	if p.Network.Proxy == nil {
		return ProxyNone
	}
	return p.Network.Proxy.Value
}
