package address

import (
	"strconv"
	"testing"
)

func TestParseDenied(t *testing.T) {
	for s, want := range map[string]string{
		"203.0.113.7": "203.0.113.7/32 0", "203.0.113.0/24": "203.0.113.0/24 0", "0.0.0.0/0": "0.0.0.0/0 0", "10.0.0.0/8:22": "10.0.0.0/8 22",
		"2001:db8::/32": "2001:db8::/32 0", "[2001:db8::1]": "2001:db8::1/128 0", "[2001:db8::/48]:443": "2001:db8::/48 443", "::1": "::1/128 0",
		"203.0.113.0/24:0": "", "203.0.113.1/24": "", "203.0.113": "", "2001:db8::1%eth0": "", "[203.0.113.7]:443": "", "[2001:db8::1": "", "a/b": "", "": "", "1.2.3.4:99999": "", "::ffff:203.0.113.5": "", "::ffff:203.0.113.0/120": "", "[::ffff:203.0.113.5]:443": "",
	} {
		got := ""
		if p, err := ParseDenied(s); err == nil {
			got = p.Range.String() + " " + strconv.Itoa(int(p.Port))
		}
		if got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
		if want != "" && !Numeric(s) {
			t.Errorf("%q is taken for a name", s)
		}
	}
	for _, s := range []string{"a.test", "*.a.test", "a.test:443", "10.a.test", "xn--1.test", "fe"} {
		if Numeric(s) {
			t.Errorf("%q is taken for an address", s)
		}
	}
}
