package address

import "net/netip"

// loopback has a hint of its own where somebody tries to allow it.
const loopback = "loopback"

// closed is the table of addresses that do not lead to the public network. Go's own
// predicates call several of them public. An address of IPv6 outside 2000::/3 needs
// no row: nothing public is there.
//
// The ranges kept for documentation are left out: they lead nowhere, and tests
// stand hosts there.
var closed = []struct {
	prefix netip.Prefix
	what   string
	never  bool // no rule opens it
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "this network", true},
	{netip.MustParsePrefix("127.0.0.0/8"), loopback, true},
	{netip.MustParsePrefix("169.254.169.254/32"), "cloud metadata", true},
	{netip.MustParsePrefix("169.254.170.2/32"), "cloud credentials", true},
	{netip.MustParsePrefix("169.254.170.23/32"), "cloud credentials", true},
	{netip.MustParsePrefix("100.100.100.200/32"), "cloud metadata", true},
	{netip.MustParsePrefix("168.63.129.16/32"), "cloud metadata", true},
	{netip.MustParsePrefix("192.0.0.192/32"), "cloud metadata", true},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast", true},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast", true},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private network", false},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private network", false},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private network", false},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local", false},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT or an overlay network", false},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay", false},
	{netip.MustParsePrefix("198.18.0.0/15"), "the gate's own pool", true},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved", false},

	{netip.MustParsePrefix("::/128"), "this network", true},
	{netip.MustParsePrefix("::1/128"), loopback, true},
	{netip.MustParsePrefix("::ffff:0:0/96"), "IPv4 in IPv6", true},
	{netip.MustParsePrefix("::/96"), "IPv4 in IPv6", true},
	{netip.MustParsePrefix("64:ff9b::/96"), "NAT64", true},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "NAT64", true},
	{netip.MustParsePrefix("2002::/16"), "6to4", true},
	{netip.MustParsePrefix("2001::/32"), "Teredo", true},
	{netip.MustParsePrefix("2001:2::/48"), "the gate's own pool", true},
	{netip.MustParsePrefix("fd00:ec2::/32"), "cloud metadata", true},
	{netip.MustParsePrefix("fd20:ce::254/128"), "cloud metadata", true},
	{netip.MustParsePrefix("ff00::/8"), "multicast", true},
	{netip.MustParsePrefix("fd7a:115c:a1e0::/48"), "an overlay network", false},
	{netip.MustParsePrefix("fc00::/7"), "a private network", false},
	{netip.MustParsePrefix("fe80::/10"), "link-local", false},
	{netip.MustParsePrefix("fec0::/10"), "site-local", false},
}

var global6 = netip.MustParsePrefix("2000::/3")

// Closed says what an address is, if it is not of the public network.
func Closed(a netip.Addr) (what string, closed bool) {
	what, closed, _ = look(a)
	return what, closed
}

// Never says what an address is, if no rule may open it.
func Never(a netip.Addr) (what string, never bool) {
	what, _, never = look(a)
	return what, never
}

func look(a netip.Addr) (what string, shut, never bool) {
	if !a.IsValid() || a.Zone() != "" {
		return "not an address", true, true
	}
	for i := range closed {
		if closed[i].prefix.Contains(a) {
			return closed[i].what, true, closed[i].never
		}
	}
	if a.Is4In6() {
		return "IPv4 in IPv6", true, true
	}
	if a.Is6() && !global6.Contains(a) {
		return "not global unicast", true, true
	}
	return "", false, false
}
