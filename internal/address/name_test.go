package address

import (
	"strings"
	"testing"
)

func TestParseName(t *testing.T) {
	for in, want := range map[string]Name{
		"example.org": "example.org", "EXAMPLE.Org": "example.org", "example.org.": "example.org", "a.b.c.d": "a.b.c.d",
		"x": "x", "0.a": "0.a", "1e100.net": "1e100.net", "a-b.c": "a-b.c", "xn--bcher-kva.test": "xn--bcher-kva.test", "XN--BCHER-KVA.test": "xn--bcher-kva.test",
		strings.Repeat("a.", 126) + "b": Name(strings.Repeat("a.", 126) + "b"),
	} {
		if got, err := ParseName(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{
		"", ".", "..", "a..b", ".a", "a..", "a.b..", "-a.b", "a-.b", "a_b.c", "a b.c", "a\tb", "*.a", "a*b", "\"a\"", "a.b\x00.c", "a\nb", "a%2eb", "a\\b", "a/b", "a:1", "u@a",
		"127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "1.0x7f", "a.0x", "a.1", "::1", "[::1]", "fe80::1%eth0",
		"allowed。test", "ａllowed.test", "allowed.test\u200b", "\u212a.test", "bücher.test", "xn--", "xn--.test", "xn--a\u0080.test", "xn--zzzzzzzzzz99999.test",
		strings.Repeat("a", 64) + ".b", strings.Repeat("a.", 127) + "b",
	} {
		if got, err := ParseName(in); err == nil {
			t.Errorf("%q was taken for %q", in, got)
		}
	}
}

func TestFromText(t *testing.T) {
	for in, want := range map[string]Name{"Bücher.test": "xn--bcher-kva.test", "a.test": "a.test", "例え.test": "xn--r8jz45g.test"} {
		if got, err := FromText(in); err != nil || got != want {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if got, err := FromText("a\u200bb.test"); err == nil {
		t.Errorf("a zero-width space made %q", got)
	}
}

func TestSpecial(t *testing.T) {
	for name, want := range map[Name]bool{"printer.local": true, "a.test": true, "x.internal": true, "1.168.192.in-addr.arpa": true, "local.example.org": false, "example.org": false, "notlocal": false} {
		if _, got := name.Special(); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for in, want := range map[string]string{"a.test:443": "a.test:443", "A.test.:1": "a.test:1", "203.0.113.10:443": "203.0.113.10:443", "[2001:db8::1]:443": "[2001:db8::1]:443"} {
		if got, err := ParseTarget(in); err != nil || got.String() != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"a.test", "a.test:", "a.test:0443", "a.test:+443", "a.test:99999", "a.test:0", "a.test: 443", "a.test:443/x", "a.test:443?x", "a.test:443#x",
		"u@a.test:443", "a.test:443@b.test:443", "u:p@a.test:443", "[fe80::1%25eth0]:443", "[fe80::1%eth0]:443", "[::1%lo]:443", "[1.2.3.4]:443", "::1:443", "//b.test:443", "/", "[::1:443", "0x7f.1:80", ":443"} {
		if got, err := ParseTarget(in); err == nil {
			t.Errorf("%q was taken for %v", in, got)
		}
	}
}
