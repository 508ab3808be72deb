package policy

import (
	"fmt"
	"slices"

	"ringfence.dev/ringfence/internal/address"
)

// Reach is what of the network a policy gives, read and ready to decide by. Deny
// beats Allow. A deny without a port is about every port. What is internal needs
// an entry of IP or HostPorts in every mode.
type Reach struct {
	Mode      string   // in "internet" every public host is allowed besides, in "open" every public address
	Allow     []Entry  // the agent's own, then groups, then the policy's list
	Deny      []Entry  // the policy's list, then groups
	Needless  []Entry  // of the agent: refused as unknown hosts are, but nobody is asked
	IP        []Device // addresses, one by one
	Publish   []Port
	HostPorts []uint16
	DenyIP    []Device // addresses that cannot be reached, whatever leads there; port 0 is every port
	Proxy     string   // ProxyNone, ProxyEnv, or the URL of a proxy
	Budget    []Budget
	// Learn lets a public host that nobody has judged be reached, and notes it. No
	// policy and no flag sets it, only `ringfence learn`.
	Learn bool
}

// OwnGroup is the group of the agent's own hosts.
const OwnGroup = "agent"

// Entry is one rule about hosts.
type Entry struct {
	Rule   address.Rule
	Text   string // as it was written
	Group  string // "" for a rule of the policy's list
	Source Source // of a group: the switch or the mode that has it on
}

// Device is one rule about addresses.
type Device struct {
	Prefix address.Prefix
	Text   string
	Source Source
}

// Port is one publication: Host of the host's loopback leads to Inside.
type Port struct {
	Host, Inside uint16
	Source       Source
}

// Budget bounds the bytes that may be sent to each host of a name. Of several
// that cover a host the lowest holds.
type Budget struct {
	Rule   address.Rule
	Text   string
	Bytes  int64
	Source Source
}

// Reach returns what p and the agent's own hosts give. Nothing is looked up.
func (p *Policy) Reach(own []string) (Reach, error) {
	n := &p.Network
	out := Reach{Mode: modes[0], Proxy: ProxyNone}
	if n.Mode == nil || n.Mode.Value == out.Mode {
		return out, nil
	}
	if out.Mode = n.Mode.Value; !slices.Contains(modes, out.Mode) {
		return Reach{}, fmt.Errorf("%s: there is no mode %q", n.Mode.Source, out.Mode)
	}
	for _, o := range own {
		r, err := parseHost(o)
		if err != nil {
			return Reach{}, fmt.Errorf("the agent's host %w", err)
		}
		out.Allow = append(out.Allow, Entry{Rule: r, Text: o, Group: OwnGroup, Source: Source{File: "agent"}})
	}
	for _, step := range []func(*Policy, *Reach) error{denyList, grouped, allowList, devices, ports, upstream, budgets} {
		if err := step(p, &out); err != nil {
			return Reach{}, err
		}
	}
	return out, nil
}

func grouped(p *Policy, out *Reach) error {
	all := slices.DeleteFunc(p.GroupsOn(), func(g GroupState) bool { return !g.On })
	allow, deny := len(p.Network.Allow), 0
	for _, g := range all {
		if g.Deny {
			deny += len(g.Hosts)
		} else {
			allow += len(g.Hosts)
		}
	}
	out.Allow, out.Deny = slices.Grow(out.Allow, allow), slices.Grow(out.Deny, deny)
	for i := range all {
		g, to := &all[i], &out.Allow
		if g.Deny {
			to = &out.Deny
		}
		for _, h := range g.Hosts {
			*to = append(*to, Entry{g.rule(h), h, g.Name, g.Source})
		}
	}
	return nil
}

func allowList(p *Policy, out *Reach) (err error) {
	out.Allow, err = entries(out.Allow, p.Network.Allow, parseHost)
	return err
}

func denyList(p *Policy, out *Reach) (err error) {
	var names List
	for _, v := range p.Network.Deny {
		if !address.Numeric(v.Value) {
			names = append(names, v)
			continue
		}
		prefix, err := address.ParseDenied(v.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Source, err)
		}
		out.DenyIP = append(out.DenyIP, Device{prefix, v.Value, v.Source})
	}
	out.Deny, err = entries(out.Deny, names, parseDeny)
	return err
}

func entries(out []Entry, l List, parse func(string) (address.Rule, error)) ([]Entry, error) {
	out = slices.Grow(out, len(l))
	for _, v := range l {
		r, err := parse(v.Value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Source, err)
		}
		out = append(out, Entry{Rule: r, Text: v.Value, Source: v.Source})
	}
	return out, nil
}

func devices(p *Policy, out *Reach) error {
	for _, v := range p.Network.IP {
		prefix, err := address.ParsePrefix(v.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Source, err)
		}
		out.IP = append(out.IP, Device{prefix, v.Value, v.Source})
	}
	return nil
}

func ports(p *Policy, out *Reach) error {
	for _, v := range p.Network.Publish {
		host, inside, err := ParsePublish(v.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Source, err)
		}
		out.Publish = append(out.Publish, Port{host, inside, v.Source})
	}
	for _, v := range p.Network.HostPorts {
		port, err := address.ParsePort(v.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", v.Source, err)
		}
		out.HostPorts = append(out.HostPorts, port)
	}
	return nil
}

func upstream(p *Policy, out *Reach) error {
	if v := p.Network.Proxy; v != nil {
		if err := checkProxy(v.Value); err != nil {
			return fmt.Errorf("%s: %w", v.Source, err)
		}
		out.Proxy = v.Value
	}
	return nil
}

func budgets(p *Policy, out *Reach) error {
	for _, s := range p.Network.Budget {
		r, err := parseBudget(s.Name)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Source, err)
		}
		n, err := ParseBytes(s.Value)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Source, err)
		}
		out.Budget = append(out.Budget, Budget{r, s.Name, n, s.Source})
	}
	return nil
}
