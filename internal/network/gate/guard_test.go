package gate

import (
	"net"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

// The kernel's word on whose an address is: everything that the interfaces have is
// the host's own. No packet is sent.
func TestOwnAddresses(t *testing.T) {
	k := &kernel{}
	defer k.close()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	own := []string{"127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::"}
	for _, a := range addrs {
		p, err := netip.ParsePrefix(a.String())
		if err == nil && !p.Addr().IsLinkLocalUnicast() {
			own = append(own, p.Addr().String())
		}
	}
	for _, s := range own {
		if where, err := k.where(netip.MustParseAddr(s)); err != nil || where != ownAddress {
			t.Errorf("%s: %v, %v", s, where, err)
		}
	}
	for _, s := range []string{"203.0.113.9", "2001:db8::9"} {
		if where, err := k.where(netip.MustParseAddr(s)); err != nil || where != elsewhere {
			t.Errorf("%s counts as the host's own: %v, %v", s, where, err)
		}
	}
}

func TestGuard(t *testing.T) {
	g := &guard{rules: newRules(reach(t, "internet", nil, nil, []string{"10.1.2.3:5432", "169.254.0.0/16:80"}))}
	defer g.own.close()
	for s, ok := range map[string]bool{"203.0.113.9:443": true, "10.1.2.3:5432": true, "10.1.2.3:80": false, "10.1.2.4:5432": false, "127.0.0.1:443": false, "[::1]:443": false, "169.254.169.254:80": false, "100.64.1.1:443": false, "[2002:7f00:1::]:443": false, "[64:ff9b::7f00:1]:443": false} {
		ap := netip.MustParseAddrPort(s)
		if err := g.refuses(ap.Addr(), ap.Port()); (err == nil) != ok {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// A range that policy denies is shut for names that lead into it and for literal
// addresses, also where a rule opens the address.
func TestDeniedRange(t *testing.T) {
	p := &policy.Policy{Network: policy.Network{Mode: &policy.Rule{Value: "internet"}, IP: policy.List{{Value: "10.1.2.3:5432"}},
		Deny: policy.List{{Value: "203.0.113.0/24"}, {Value: "2001:db8::/32"}, {Value: "198.51.100.7:443"}, {Value: "10.1.2.0/24"}, {Value: "name.test"}}}}
	r, err := p.Reach(nil)
	if err != nil {
		t.Fatal(err)
	}
	g := &guard{rules: newRules(r)}
	defer g.own.close()
	for s, ok := range map[string]bool{"203.0.113.9:443": false, "203.0.113.9:80": false, "[::ffff:203.0.113.9]:443": false, "[2001:db8::9]:443": false, "198.51.100.7:443": false,
		"198.51.100.7:80": true, "203.0.114.9:443": true, "10.1.2.3:5432": false} {
		ap := netip.MustParseAddrPort(s)
		if err := g.refuses(ap.Addr(), ap.Port()); (err == nil) != ok {
			t.Errorf("%s: %v", s, err)
		}
		if d := g.rules.Decide(Request{Target: address.Target{Addr: ap.Addr(), Port: ap.Port()}}); !ok && (d.Verdict != Deny || d.Rule == "addresses are closed") {
			t.Errorf("%s as a literal address: %+v", s, d)
		}
	}
}

func TestRouteWhere(t *testing.T) {
	for name, c := range map[string]struct {
		r    route
		want int
	}{
		"own":             {route{kind: unix.RTN_LOCAL, bits: 32}, ownAddress},
		"broadcast":       {route{kind: unix.RTN_BROADCAST, bits: 32}, ownAddress},
		"default":         {route{kind: unix.RTN_UNICAST, router: true, outgoing: 9999}, elsewhere},
		"default, direct": {route{kind: unix.RTN_UNICAST, outgoing: 9999}, elsewhere},
		"routed prefix":   {route{kind: unix.RTN_UNICAST, bits: 24, router: true, outgoing: 9999}, elsewhere},
		"neighbour":       {route{kind: unix.RTN_UNICAST, bits: 64, outgoing: 9999}, ownLink},
		"no route":        {route{kind: unix.RTN_UNREACHABLE}, elsewhere},
	} {
		if got := c.r.where(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}
