package address

import (
	"net/netip"
	"testing"
)

func TestParsePrefix(t *testing.T) {
	for in, want := range map[string]string{"192.168.1.20:5432": "192.168.1.20:5432", "192.168.1.0/24:80": "192.168.1.0/24:80", "[fd00::1]:443": "[fd00::1]:443", "[fd00::/64]:443": "[fd00::/64]:443", "203.0.113.9:443": "203.0.113.9:443"} {
		p, err := ParsePrefix(in)
		if err != nil || p.String() != want {
			t.Errorf("%q: %v, %v", in, p, err)
		}
	}
	for _, in := range []string{"", "10.0.0.1", "10.0.0.1:", "10.0.0.1:0", "10.0.0.1:080", "10.0.0.0/8:80", "10.0.0.1/24:80", "0.0.0.0/0:80", "::/0:443", "[::/0]:443", "[fd00::/40]:443", "fd00::1:443", "[10.0.0.1]:80", "[fe80::1%eth0]:80",
		"127.0.0.1:80", "[::1]:80", "169.254.169.254:80", "100.100.100.200:80", "[::ffff:10.0.0.1]:80", "[::10.0.0.1]:80", "[64:ff9b::a00:1]:80", "[fd00:ec2::254]:80", "224.0.0.1:80", "198.18.0.1:80", "0.0.0.0:80", "010.0.0.1:80", "10.1:80", "a.test:80"} {
		if p, err := ParsePrefix(in); err == nil {
			t.Errorf("%q was taken for %v", in, p)
		}
	}
}

func TestClosed(t *testing.T) {
	for _, a := range []string{"10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "169.254.1.1", "169.254.169.254", "100.64.0.1", "100.127.255.255", "100.100.100.100", "168.63.129.16",
		"224.0.0.251", "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.0.0.1", "198.18.0.1", "198.19.255.255", "192.88.99.1",
		"::", "::1", "::ffff:10.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "::8.8.8.8", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::", "2001::1", "2001:0:ffff::1", "2001:2::1", "fc00::1", "fd00:ec2::254", "fd7a:115c:a1e0::1", "fe80::1", "fec0::1", "ff02::fb", "100::1", "4000::1", "5f00::1"} {
		if _, closed := Closed(netip.MustParseAddr(a)); !closed {
			t.Errorf("%s counts as public", a)
		}
	}
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.32.0.1", "169.253.0.1", "192.0.1.1", "198.20.0.1", "203.0.113.10", "2606:4700::1111", "2001:db8::1", "2001:4860:4860::8888", "2003::1"} {
		if what, closed := Closed(netip.MustParseAddr(a)); closed {
			t.Errorf("%s counts as %s", a, what)
		}
	}
	if _, closed := Closed(netip.Addr{}); !closed {
		t.Error("no address counts as public")
	}
}

// A range that a rule opens never takes in what no rule may open.
func TestNeverWithinRange(t *testing.T) {
	p, err := ParsePrefix("169.254.0.0/16:80")
	if err != nil {
		t.Fatal(err)
	}
	meta := netip.MustParseAddr("169.254.169.254")
	if _, never := Never(meta); !never || !p.Covers(meta, 80) {
		t.Error("metadata must be refused although the range covers it")
	}
}
