package why

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// defaultPort is meant where none is said.
const defaultPort = 443

// modeNone and modeLocked are the two tightest postures of the network.
const (
	modeNone   = "none"
	modeLocked = "locked"
)

// ParseHost reads HOST or HOST:PORT; an address of IPv6 with a port has brackets.
func ParseHost(s string) (address.Target, error) {
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return address.Target{Addr: a}, nil
	}
	if host, port, ok := strings.Cut(s, "]:"); ok || strings.Count(s, ":") == 1 {
		if !ok {
			host, port, _ = strings.Cut(s, ":")
		} else {
			host += "]"
		}
		n, err := address.ParsePort(port)
		if err != nil {
			return address.Target{}, err
		}
		t, err := ParseHost(host)
		t.Port = n
		return t, err
	}
	if strings.HasPrefix(s, "[") {
		return address.ParseHost(s)
	}
	n, err := address.FromText(s)
	return address.Target{Name: n}, err
}

// AboutHost answers for a host. Without a port it is for https.
func (w *World) AboutHost(t address.Target) *Answer {
	a := &Answer{Kind: Host, Subject: t.Host()}
	if t.Port != 0 {
		a.Subject = t.String()
	}
	if t.Name != "" {
		a.Findings = append(a.Findings, w.resolve(t))
	}
	if t.Port == 0 {
		t.Port = defaultPort
		a.Notes = append(a.Notes, "no port was named: the answer is for 443")
	}
	f := w.connect(t)
	if f.refused() && f.Help == "" {
		w.grantHost(t, &f)
	}
	a.Findings = append(a.Findings, f)
	if r := a.Of(Resolve); r != nil && r.Verdict == Denied {
		r.Grant, r.Help = f.Grant, f.Help
	}
	switch {
	case f.Verdict == Allowed && w.Reach.Proxy != policy.ProxyNone:
		a.Notes = append(a.Notes, "an upstream proxy carries it: the proxy looks up the names that a rule allows, and may refuse a host; ringfence log then says that the upstream proxy did")
	case f.Verdict == Allowed:
		a.Notes = append(a.Notes, "its address is judged when it is dialled; a name that does not exist or a host that refuses is not ringfence's doing, and ringfence log then says \"not reached\"")
	}
	if c, ok := w.asked("network", []string{"allow", "ip"}, t.Host()); ok {
		a.Notes = append(a.Notes, fmt.Sprintf("%s asks for it and is not trusted: read it, then ringfence trust", c.Source))
	}
	return a
}

// Reaches judges one access to a host. No grant is looked for.
func (w *World) Reaches(t address.Target, access string) Finding {
	if access == Resolve {
		return w.resolve(t)
	}
	return w.connect(t)
}

// resolve judges the name alone.
func (w *World) resolve(t address.Target) Finding {
	if Loopback(t) {
		return Finding{Access: Resolve, Verdict: Private, Ours: true, By: WallLoopback, Source: BuiltIn, Rule: "localhost",
			Reason: "the name stands for the session's own loopback"}
	}
	return w.ruled(Resolve, address.Target{Name: t.Name})
}

// connect judges a connection.
func (w *World) connect(t address.Target) Finding {
	if !Loopback(t) {
		return w.ruled(Connect, t)
	}
	f := Finding{Access: Connect, Verdict: Private, Ours: true, By: WallLoopback, Source: BuiltIn, Rule: "own network namespace",
		Reason: "it is the session's own loopback; servers of the host are not there"}
	if slices.Contains(w.Reach.HostPorts, t.Port) {
		f.Verdict, f.Reason, f.By = Allowed, fmt.Sprintf("it leads to port %d of the host's loopback", t.Port), WallGate
		for _, r := range w.Policy.Network.HostPorts {
			if r.Value == strconv.Itoa(int(t.Port)) {
				f.Rule, f.Source = "host-ports", where(r.Source)
			}
		}
	}
	return f
}

// Loopback holds for what stands for the session itself.
func Loopback(t address.Target) bool {
	return t.Name == "localhost" || t.Name.Under("localhost") || t.Name == "" && t.Addr.Unmap().IsLoopback()
}

// ruled asks the gate.
func (w *World) ruled(access string, t address.Target) Finding {
	f := Finding{Access: access, Ours: true, By: WallGate}
	if w.Reach.Mode == modeNone {
		f.Verdict, f.By, f.Reason = Denied, WallClosed, "the network of the session is closed"
		f.Rule, f.Source = `[network] mode = "none"`, w.modeSource()
		return f
	}
	r := w.Decide(t)
	f.Rule, f.Source, f.Reason = r.Rule, r.Source, r.Reason
	if r.By != "" {
		f.By = r.By
	}
	if f.Verdict = Denied; r.Allow {
		f.Verdict = Allowed
		if f.Reason == "" {
			f.Reason = "a rule allows it"
		}
	}
	switch {
	case strings.HasPrefix(r.Rule, "mode "):
		f.Source = w.modeSource()
	case strings.HasPrefix(r.Source, "group "):
		f.Source = w.groupSource(strings.TrimPrefix(r.Source, "group "))
	case f.Source == "":
		f.Source = BuiltIn
	}
	return f
}

func (w *World) modeSource() string {
	if m := w.Policy.Network.Mode; m != nil {
		return where(m.Source)
	}
	return BuiltIn
}

// groupSource says which group, and who has it on.
func (w *World) groupSource(name string) string {
	for _, e := range slices.Concat(w.Reach.Allow, w.Reach.Deny) {
		if e.Group == name {
			return fmt.Sprintf("group %s, on by %s", name, where(e.Source))
		}
	}
	return "group " + name
}

// grantHost looks for the smallest grant that would let a host be reached.
func (w *World) grantHost(t address.Target, f *Finding) {
	ask := func(with *World) *Finding { out := with.connect(t); return &out }
	var net policy.Network
	if w.Reach.Mode == modeNone {
		net.Mode = &policy.Rule{Value: modeLocked, Source: policy.Source{File: "grant"}}
	}
	g := Grant{Layer: &policy.Policy{}}
	switch {
	case Loopback(t):
		net.HostPorts = granted(strconv.Itoa(int(t.Port)))
		g.Also = []string{fmt.Sprintf("whatever listens at port %d of the host's loopback, now and later, with no check of what is said", t.Port)}
	case t.Name == "":
		if what, never := address.Never(t.Addr); never {
			f.Help = fmt.Sprintf("no grant helps: the address is %s, which no rule opens", what)
			return
		}
		net.IP = granted(address.Prefix{Range: netip.PrefixFrom(t.Addr, t.Addr.BitLen()), Port: t.Port}.String())
		g.Also = []string{"anything that is said to that address and port: what has no name is not looked into"}
	default:
		if f.By == WallBroker {
			f.Help = "no grant helps: the broker speaks to this host for the agent, and the credential stays outside"
			return
		}
		g.Live = "ringfence grant SESSION --host " + hostRule(t)
		if !w.denyingGroup(t, &net, &g) {
			f.Help = "no grant is stronger than a deny: take it out of " + f.Source
			return
		}
		net.Allow = granted(hostRule(t))
		g.Also = append(alsoHost(t), g.Also...)
	}
	if net.Mode != nil {
		g.Live = ""
		g.Also = append(g.Also, "the agent's own hosts, which every mode but none allows")
	}
	g.Layer.Network = net
	w.try(f, ask, nil, g)
}

// denyingGroup switches the groups off that deny a host; false if a rule does.
func (w *World) denyingGroup(t address.Target, net *policy.Network, g *Grant) bool {
	for _, e := range w.Reach.Deny {
		if !e.Rule.Covers(t.Name) || e.Rule.Port != 0 && e.Rule.Port != t.Port {
			continue
		}
		if e.Group == "" {
			return false
		}
		off := "-" + e.Group
		if !slices.Contains(net.Groups.Values(), off) {
			net.Groups = append(net.Groups, granted(off)...)
			g.Live = ""
			for _, group := range policy.Groups() {
				if group.Name == e.Group {
					g.Also = append(g.Also, fmt.Sprintf("the other %d entries of the group %s are no longer denied either (%s)", len(group.Hosts)-1, group.Name, group.About))
				}
			}
		}
	}
	return true
}

// hostRule is the smallest rule for a target.
func hostRule(t address.Target) string {
	return fmt.Sprintf("%s:%d", t.Name, t.Port)
}
