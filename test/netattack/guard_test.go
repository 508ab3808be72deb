package netattack

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/world"
)

// named gives every address that must not be dialled a name that policy allows.
func named(text string) string {
	return strings.NewReplacer(".", "-", ":", "-").Replace("at-"+text+"-x") + ".wild.test"
}

// behindNames are the addresses that names lead to.
func behindNames() []string {
	return slices.Concat(internal, hostOwn, []string{"127.0.0.1", "127.8.8.8", "0.0.0.0", "::1", "::"})
}

// unreached are addresses that no connection can be made to, but that a name can have.
var unreached = []string{"224.0.0.1", "255.255.255.255", "ff02::1", "ff0e::1", "fe80::1", "0.1.2.3"}

// Names with more than one address, or with names in between. The first address is
// what a simple program takes.
const (
	mixed4, mixed6     = "mixed4.wild.test", "mixed6.wild.test"
	twoFamilies        = "two-families.wild.test"
	mapped, compatible = "mapped.wild.test", "compatible.wild.test"
)

// guarded are the names of this file with what the resolver says of them.
func guarded() map[string][]string {
	out := map[string][]string{
		mixed4:                      {"10.0.0.1", public4},
		mixed6:                      {"fd00::1", public6},
		twoFamilies:                 {"10.0.0.1", public6},
		mapped:                      {"::ffff:10.0.0.1"},
		compatible:                  {"::10.0.0.1"},
		"chain.wild.test":           {"chain.denied.test"},
		"chain.denied.test":         {"chain.evil.test"},
		"chain.evil.test":           {"10.0.0.1"},
		"chain6.wild.test":          {"chain6.denied.test"},
		"chain6.denied.test":        {"fd00::1"},
		"alias.wild.test":           {"alias.denied.test"},
		"alias.denied.test":         {public4, public6},
		"127.0.0.1.wild.test":       {"127.0.0.1"},
		"10-0-0-1.wild.test":        {"10.0.0.1"},
		"0a000001.wild.test":        {"10.0.0.1"},
		"fd00--1.wild.test":         {"fd00::1"},
		"169.254.169.254.wild.test": {"169.254.169.254"},
	}
	for _, text := range slices.Concat(behindNames(), unreached) {
		out[named(text)] = []string{text}
	}
	return out
}

// guardRows connect to allowed names whose addresses are not for everybody. Nothing of
// them may be dialled, whatever way the name came by.
func guardRows() []row {
	var rows []row
	for _, text := range behindNames() {
		a := netip.MustParseAddr(text)
		sees := canary(a)
		if slices.Contains(hostOwn, text) || a.IsLoopback() || a.IsUnspecified() {
			sees = "canary host"
		}
		rows = append(rows, byName("PX-054", named(text), family(a), sees)...)
	}
	for _, text := range unreached {
		a := netip.MustParseAddr(text)
		all := byName("PX-054", named(text), family(a), "canary ")
		for i := range all {
			all[i].alone = "no connection can be made there"
		}
		rows = append(rows, all...)
	}
	private := func(id, name, fam string, a string) {
		rows = append(rows, byName(id, name, fam, canary(netip.MustParseAddr(a)))...)
	}
	private("DN-009", "chain.wild.test", "4", "10.0.0.1")
	private("DN-009", "chain6.wild.test", "6", "fd00::1")
	for _, r := range byName("DN-009", mapped, "6", canary(netip.MustParseAddr("10.0.0.1"))) {
		r.p.Talk.Family = 0 // Go's resolver takes it for an address of IPv4
		rows = append(rows, r)
	}
	private("DN-009", compatible, "6", "::10.0.0.1")
	private("DN-010", "127.0.0.1.wild.test", "4", "127.0.0.1")
	private("DN-010", "10-0-0-1.wild.test", "4", "10.0.0.1")
	private("DN-010", "0a000001.wild.test", "4", "10.0.0.1")
	private("DN-010", "fd00--1.wild.test", "6", "fd00::1")
	private("DN-010", "169.254.169.254.wild.test", "4", "169.254.169.254")
	for i := range rows {
		if rows[i].open.reply == canary(netip.MustParseAddr("127.0.0.1")) {
			rows[i].open.reply, rows[i].p.Talk.Enough = "canary host", "canary host"
		}
	}
	rows = slices.Concat(rows, mixedRows())
	for i := range rows {
		if rows[i].want == closed {
			rows[i].but = resolvedThere
		}
	}
	return rows
}

// resolvedThere: behind an upstream proxy, a name that a rule allows is looked up by the
// proxy, and where it leads is the proxy's to judge. docs/threat-model.md says so, and
// TestProxyResolves of test/company what is left.
var resolvedThere = map[string]string{"proxy": "the proxy looks it up", "socks-proxy": "the proxy looks it up", "everything": "the proxy looks it up"}

// byName connects to a name by three ways, at a port where every address answers.
func byName(id, name, fam, sees string) []row {
	f := 4
	if fam == "6" {
		f = 6
	}
	at := fmt.Sprintf("%s:%d", name, canaryPort)
	open := sign{reply: sees}
	rows := []row{
		{what: name, p: talk(at, f, sees), open: open, record: "tcp " + at},
		{what: name + " by CONNECT", p: tunnel(connectTo(at), sees), open: open, record: "connect " + at},
		{what: name + " by SOCKS5", p: socksTo(socksName(name, canaryPort), sees), open: open, record: "socks " + at},
	}
	for i := range rows {
		rows[i].id, rows[i].want, rows[i].family = id, closed, fam
		rows[i].what += ", IPv" + fam
	}
	return rows
}

// mixedRows: of several addresses the good ones may be dialled, and no other.
func mixedRows() []row {
	var rows []row
	bad := func(s *seen) error {
		for _, p := range s.packets {
			if a := p.Addr.String(); p.Port == canaryPort && (a == "10.0.0.1" || a == "fd00::1") {
				return fmt.Errorf("%s was dialled", packetText(p))
			}
		}
		return nil
	}
	for _, name := range []string{mixed4, mixed6, twoFamilies} {
		fam := "4"
		if name == mixed6 {
			fam = "6"
		}
		for _, r := range byName("DN-009", name, fam, "canary 10.0.0.1") {
			r.record, r.witness, r.p.Talk.Enough = "", bad, "canary "
			if name == mixed6 {
				r.open.reply, r.alone = canary(netip.MustParseAddr("fd00::1")), "programs choose the public one of the two by themselves"
			}
			if name == twoFamilies && r.what != name+", IPv4" {
				r.alone = "which of two families a program takes is for it to say"
			}
			rows = append(rows, r)
		}
	}
	alias := talk("alias.wild.test:80", 4, "origin ", probe.Say(get("alias.wild.test")))
	return append(rows, row{id: "DN-009", what: "an allowed name that is an alias of a denied one with a good address", want: works, p: alias, open: sign{reply: "origin alias.wild.test "}, record: "tcp alias.wild.test:80", family: "4"})
}

// dialled are the addresses and ports that the base policy opens.
func dialled(p world.Packet) bool {
	web := p.Port == 80 || p.Port == 443
	switch p.Addr.String() {
	case "203.0.113.10", "2001:db8::10":
		return p.Proto == "tcp" && web
	case wild4, wild6, public4, public6:
		return p.Proto == "tcp" && (web || p.Port == canaryPort)
	}
	return false
}
