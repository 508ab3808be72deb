package address

import (
	"testing"

	"golang.org/x/net/publicsuffix"
)

func rule(t *testing.T, s string) Rule {
	t.Helper()
	r, err := ParseRule(s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRuleCovers(t *testing.T) {
	for _, c := range []struct {
		rule string
		name Name
		port uint16
		want Protocol // "" if it is not covered
	}{
		{"a.test", "a.test", 443, TLS}, {"a.test", "a.test", 80, HTTP}, {"a.test", "a.test", 22, ""}, {"a.test", "b.a.test", 443, ""}, {"a.test", "ba.test", 443, ""},
		{"*.a.test", "a.test", 443, ""}, {"*.a.test", "b.a.test", 443, TLS}, {"*.a.test", "c.b.a.test", 443, TLS}, {"*.a.test", "ba.test", 443, ""},
		{"a.test:5432", "a.test", 5432, TCP}, {"a.test:5432", "a.test", 443, ""}, {"a.test:443", "a.test", 443, TLS}, {"a.test:80", "a.test", 80, HTTP},
		{"tcp://a.test:443", "a.test", 443, TCP}, {"https://a.test:8443", "a.test", 8443, TLS}, {"http://a.test:8080", "a.test", 8080, HTTP},
		{"https://a.test", "a.test", 443, TLS}, {"https://a.test", "a.test", 80, ""}, {"http://a.test", "a.test", 443, ""},
		{"Bücher.test", "xn--bcher-kva.test", 443, TLS}, {"A.TEST", "a.test", 443, TLS},
		{"GET http://a.test/x", "a.test", 80, HTTP}, {"GET http://a.test/x", "a.test", 443, ""},
	} {
		r := rule(t, c.rule)
		got, on := r.On(c.port)
		if !on || !r.Covers(c.name) {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s on %s:%d: %q, want %q", c.rule, c.name, c.port, got, c.want)
		}
	}
}

func TestRuleRequest(t *testing.T) {
	for _, c := range []struct {
		rule, method, path string
		want               bool
	}{
		{"a.test", "POST", "/x", true}, {"GET,HEAD http://a.test", "GET", "/..", true}, {"GET,HEAD http://a.test", "POST", "/", false},
		{"http://a.test/pub/*", "GET", "/pub/x?q=1", true}, {"http://a.test/pub/*", "GET", "/pub/", true}, {"http://a.test/pub/*", "GET", "/pub", false}, {"http://a.test/pub/*", "GET", "/public", false},
		{"http://a.test/pub/*", "GET", "/pub/../secret", false}, {"http://a.test/pub/*", "GET", "/pub/%2e%2e/secret", false}, {"http://a.test/pub/*", "GET", "/pub//x", false}, {"http://a.test/pub/*", "GET", "/pub/a\\b", false},
		{"http://a.test/x", "GET", "/x", true}, {"http://a.test/x", "GET", "/x?y", true}, {"http://a.test/x", "GET", "/xy", false},
	} {
		if got := rule(t, c.rule).Request(c.method, c.path); got != c.want {
			t.Errorf("%s, %s %s: %v", c.rule, c.method, c.path, got)
		}
	}
}

// TestRefusedRules holds PX-009 of the proxy traps: what is too broad or malformed
// stops the launch.
func TestRefusedRules(t *testing.T) {
	for _, s := range []string{"*", "*.com", "*.co.uk", "*.test", "", " ", "https://x/", "x/path", "x:abc", "*.*.x", "x*.test", "*x.test", "xn--", "10.0.0.0/8", "10.0.0.1", "10.0.0.1:80", "[::1]:80", "::1",
		"a.test.", "a..test", "ftp://a.test", "tcp://a.test", "get http://a.test", "GET a.test", "tcp://x.test:80/p", "GET tcp://x.test:80", "https://x.test:80/p", "GET https://a.test/x", "GET  a.test:80", "http://a.test/a/../b", "http://a.test/*x/y", "http://a.test/%41", "http://a.test/?q", "http://u@a.test", "a.test:0", "a.test:65536", "a.test:00443"} {
		if r, err := ParseRule(s); err == nil {
			t.Errorf("%q was taken for %s", s, r)
		}
	}
}

func TestShared(t *testing.T) {
	for s, want := range map[string]bool{"*.github.io": true, "*.example.org": false, "x.github.io": false, "*.x.github.io": false} {
		if _, got := rule(t, s).Shared(); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

func TestRuleWithin(t *testing.T) {
	for _, c := range []struct {
		r, over string
		want    bool
	}{
		{"a.test", "a.test", true}, {"b.a.test", "*.a.test", true}, {"a.test", "*.a.test", false}, {"*.b.a.test", "*.a.test", true}, {"*.a.test", "*.b.a.test", false}, {"*.a.test", "a.test", false},
		{"a.test:443", "a.test", true}, {"a.test", "a.test:443", false}, {"a.test:443", "tcp://a.test:443", true}, {"tcp://a.test:443", "a.test", false}, {"a.test:22", "a.test:22", true},
		{"GET http://a.test/x", "a.test", true}, {"a.test", "GET http://a.test", false}, {"GET http://a.test/x/y", "GET,HEAD http://a.test/x/*", true}, {"POST http://a.test/x/y", "GET http://a.test/x/*", false},
		{"http://a.test/x/*", "http://a.test/x/y", false}, {"http://a.test/x/*", "http://a.test/x/*", true}, {"http://a.test/xy/*", "http://a.test/x/*", false},
	} {
		if got := rule(t, c.r).Within(rule(t, c.over)); got != c.want {
			t.Errorf("%s within %s: %v", c.r, c.over, got)
		}
	}
}

// The list of suffixes that browsers keep is the oracle: what it calls a registry's
// own is not covered by a star, for the registries that people meet.
func TestBareAgreesWithTheList(t *testing.T) {
	for _, country := range []string{"uk", "au", "jp", "br", "in", "kr", "nz", "za", "tr", "cn", "tw", "il", "mx", "ar", "sg", "hk", "th", "id", "my", "pl", "ua", "ke", "ng"} {
		for _, label := range generic {
			n := label + "." + country
			suffix, icann := publicsuffix.PublicSuffix(n)
			if icann && suffix == n && !bare(Name(n)) {
				t.Errorf("*.%s would be covered", n)
			}
		}
		for _, label := range []string{"co", "com", "org", "net", "ac", "gov", "edu"} {
			if suffix, icann := publicsuffix.PublicSuffix(label + "." + country); icann && suffix == label+"."+country {
				if _, err := ParseRule("*." + label + "." + country); err == nil {
					t.Errorf("*.%s.%s is taken", label, country)
				}
			}
		}
	}
	for _, n := range []string{"*.bbc.co.uk", "*.example.com.au", "*.github.com", "*.npmjs.org"} {
		if _, err := ParseRule(n); err != nil {
			t.Error(err)
		}
	}
}

func TestRegistrable(t *testing.T) {
	for name, want := range map[Name]Name{
		"a.b.c.test": "c.test", "c.test": "c.test", "test": "test", "x.y.bbc.co.uk": "bbc.co.uk", "bbc.co.uk": "bbc.co.uk",
		"x.y.github.io": "y.github.io", "github.io": "github.io", "a.b.s3.amazonaws.com": "b.s3.amazonaws.com", "": "",
	} {
		if got := name.Registrable(); got != want {
			t.Errorf("%q: %q, not %q", name, got, want)
		}
	}
	// The list of suffixes that browsers keep is the oracle, for names that people meet.
	for _, n := range []string{"www.example.com", "a.b.example.com.au", "docs.python.org", "x.example.co.jp", "a.example.org.uk", "a.b.example.gov.br"} {
		if want, err := publicsuffix.EffectiveTLDPlusOne(n); err != nil || string(Name(n).Registrable()) != want {
			t.Errorf("%s: %s, not %s", n, Name(n).Registrable(), want)
		}
	}
}
