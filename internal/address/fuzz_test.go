package address

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

// FuzzParseName: what is taken is canonical, and nobody reads it as an address.
func FuzzParseName(f *testing.F) {
	for _, s := range []string{"example.org", "EXAMPLE.org.", "127.0.0.1", "0x7f.1", "xn--bcher-kva.test", "a..b", "a\x00b", "ａ.test", "-a", "a_b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := ParseName(s)
		if err != nil {
			return
		}
		if again, err := ParseName(string(n)); err != nil || again != n {
			t.Fatalf("%q: %q becomes %q, %v", s, n, again, err)
		}
		if strings.Trim(string(n), "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || len(n) > maxName {
			t.Fatalf("%q gave %q", s, n)
		}
		if _, err := netip.ParseAddr(string(n)); err == nil || net.ParseIP(string(n)) != nil {
			t.Fatalf("%q is an address", n)
		}
		if !strings.EqualFold(strings.TrimSuffix(s, "."), string(n)) {
			t.Fatalf("%q became another name: %q", s, n)
		}
	})
}

// FuzzParseTarget: what is taken means the same when written out.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"a.test:443", "[2001:db8::1]:443", "203.0.113.1:80", "u@a:1", "[::1%lo]:1", "a:0443"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		a, err := ParseTarget(s)
		if err != nil {
			return
		}
		if b, err := ParseTarget(a.String()); err != nil || a != b {
			t.Fatalf("%q: %v becomes %v, %v", s, a, b, err)
		}
		if (a.Name == "") != a.Addr.IsValid() || a.Port == 0 {
			t.Fatalf("%q gave %+v", s, a)
		}
	})
}

// FuzzParseRule: a rule survives being written out, and covers no bare domain.
func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"a.test", "*.a.test:8443", "tcp://a.test:22", "GET,HEAD http://a.test/pub/*", "*.com", "https://Bücher.test", "10.0.0.1:80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			return
		}
		again, err := ParseRule(r.String())
		if err != nil || again.String() != r.String() || !again.Within(r) || !r.Within(again) {
			t.Fatalf("%q: %q becomes %q, %v", s, r, again, err)
		}
		if r.Below && (r.Name.Single() || r.Covers(r.Name)) {
			t.Fatalf("%q covers %q", s, r.Name)
		}
	})
}

// FuzzParsePrefix: a range survives being written out, is never wide, and opens
// nothing that no rule may open.
func FuzzParsePrefix(f *testing.F) {
	for _, s := range []string{"10.0.0.1:80", "192.168.0.0/16:443", "[fd00::/64]:443", "0.0.0.0/0:1", "[::1]:80", "127.0.0.1:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePrefix(s)
		if err != nil {
			return
		}
		again, err := ParsePrefix(p.String())
		if err != nil || again != p {
			t.Fatalf("%q: %v becomes %v, %v", s, p, again, err)
		}
		if a := p.Range.Addr(); a.Is4() && p.Range.Bits() < minBits4 || a.Is6() && p.Range.Bits() < minBits6 || p.Port == 0 {
			t.Fatalf("%q gave %v", s, p)
		}
		if what, never := Never(p.Range.Addr()); never {
			t.Fatalf("%q opens %s", s, what)
		}
	})
}
