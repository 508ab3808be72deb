package policy

import (
	"strings"

	"ringfence.dev/ringfence/internal/address"
)

// hosts finds rules that nobody but their own author defeats. A rule that another
// layer denies is no problem: that layer was meant to.
func (c *checker) hosts() {
	if len(c.p.Network.Allow) == 0 {
		return
	}
	deny := denying(c.p)
	for _, v := range c.p.Network.Allow {
		r, err := parseHost(v.Value)
		if err != nil {
			c.add(v.Source, "%v", err)
			continue
		}
		if r.Name == "localhost" || r.Name.Under("localhost") {
			c.add(v.Source, "%q is the sandbox itself: a port of the host's loopback is one of [network] host-ports", v.Value)
		}
		e, denied := deny.of(r)
		switch {
		case !denied || !ownFault(c.p, v, e):
		case e.Group != "":
			c.add(v.Source, "%q is denied by the group %s: switch it off by \"-%s\" in [network] groups", v.Value, e.Group, e.Group)
		default:
			c.add(v.Source, "%q is both allowed and, in %s, denied by %q", v.Value, e.Source, e.Text)
		}
	}
}

// denying reads what p denies, its list before its groups. It looks at no mode, so
// that a problem does not come and go with it.
func denying(p *Policy) denials {
	out := denials{}
	for _, v := range p.Network.Deny {
		if r, err := parseDeny(v.Value); err == nil && !address.Numeric(v.Value) {
			out.add(Entry{Rule: r, Text: v.Value, Source: v.Source})
		}
	}
	off := p.Network.Groups.set()
	for i := range allGroups {
		if g := &allGroups[i]; g.Deny && !off["-"+g.Name] {
			for _, h := range g.Hosts {
				out.add(Entry{Rule: g.rule(h), Text: h, Group: g.Name})
			}
		}
	}
	return out
}

// ownFault holds for a denial that no other layer wrote: it stands beside the rule
// itself, or its group is on because nobody switched it.
func ownFault(p *Policy, allow Rule, deny Entry) bool {
	if deny.Group != "" {
		return !p.Network.Groups.has("+" + deny.Group)
	}
	return layer(allow.Source) == layer(deny.Source)
}

// layer names what a source belongs to: a file, or all the flags.
func layer(s Source) string {
	if strings.HasPrefix(s.File, "flag ") {
		return "flag"
	}
	return s.File
}

// ports finds ports that two rules want.
func (c *checker) ports() {
	outside, inside := map[uint16]Rule{}, map[uint16]Rule{}
	for _, v := range c.p.Network.HostPorts {
		port, err := address.ParsePort(v.Value)
		if err != nil {
			c.add(v.Source, "%v", err)
			continue
		}
		if first, again := inside[port]; again {
			c.add(v.Source, "port %d of the host is already in %s", port, first.Source)
		}
		outside[port], inside[port] = v, v
	}
	published := map[uint16]Rule{}
	for _, v := range c.p.Network.Publish {
		host, in, err := ParsePublish(v.Value)
		if err != nil {
			c.add(v.Source, "%v", err)
			continue
		}
		first, again := published[host]
		server, taken := outside[host]
		reached, leads := inside[in]
		switch {
		case again:
			c.add(v.Source, "port %d of the host is already published in %s", host, first.Source)
		case taken:
			c.add(v.Source, "port %d of the host cannot be published: by %s it is to be a server of the host", host, server.Source)
		case leads:
			c.add(v.Source, "port %d inside cannot be published: by %s it leads to the host", in, reached.Source)
		}
		published[host] = v
	}
}

// Cautions lists rules of p that hold and that somebody should think about: hosts
// of anybody's, switches without effect, and rules that another layer defeats.
func Cautions(p *Policy) []Problem {
	c := checker{p: p}
	c.switches()
	c.clear()
	if len(p.Network.Allow) == 0 {
		return c.found
	}
	deny := denying(p)
	for _, v := range p.Network.Allow {
		r, err := parseHost(v.Value)
		if err != nil {
			continue // Check says so
		}
		if registry, shared := r.Shared(); shared {
			c.add(v.Source, "%q lets anybody in: who likes can have a name below %s", v.Value, registry)
		}
		if e, denied := deny.of(r); denied && !ownFault(p, v, e) {
			by := e.Source.String()
			if e.Group != "" {
				by = "the group " + e.Group
			}
			c.add(v.Source, "%q is allowed in vain: %s denies it", v.Value, by)
		}
	}
	return c.found
}

// switches finds those of groups that allow and that the mode does not ask for.
func (c *checker) switches() {
	mode := c.p.Network.Mode
	if mode == nil || width(mode) == 0 {
		return
	}
	for _, v := range c.p.Network.Groups {
		g := findGroup(switched(v.Value))
		if g == nil || g.Deny {
			continue
		}
		why := ""
		switch on := v.Value[0] == '+'; {
		case on && mode.Value == locked:
			why = "has no groups"
		case !on && Wide(mode.Value):
			why = "reaches every public host"
		default:
			continue
		}
		c.add(v.Source, "%q has no effect: mode %s %s", v.Value, mode.Value, why)
	}
}
