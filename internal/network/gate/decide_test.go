package gate

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"ringfence.dev/ringfence/internal/address"
	"ringfence.dev/ringfence/internal/policy"
)

func entry(t testing.TB, s string) policy.Entry {
	t.Helper()
	r, err := address.ParseRule(s)
	if err != nil {
		t.Fatal(err)
	}
	return policy.Entry{Rule: r, Text: s}
}

func reach(t testing.TB, mode string, allow, deny, ip []string) policy.Reach {
	t.Helper()
	out := policy.Reach{Mode: mode}
	for _, s := range allow {
		out.Allow = append(out.Allow, entry(t, s))
	}
	for _, s := range deny {
		out.Deny = append(out.Deny, entry(t, s))
	}
	for _, s := range ip {
		p, err := address.ParsePrefix(s)
		if err != nil {
			t.Fatal(err)
		}
		out.IP = append(out.IP, policy.Device{Prefix: p, Text: s})
	}
	return out
}

// target reads HOST:PORT, or HOST alone as DNS asks.
func target(t testing.TB, s string) address.Target {
	t.Helper()
	if n, err := address.ParseName(s); err == nil {
		return address.Target{Name: n}
	}
	out, err := address.ParseTarget(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestDecide(t *testing.T) {
	r := newRules(reach(t, "dev",
		[]string{"a.test", "*.w.test", "db.test:5432", "tcp://ssh.test:443", "GET,HEAD http://r.test/pub/*", "x.w.test:22", "bad.test", "part.test", "https://t.test:8443"},
		[]string{"bad.test", "no.w.test", "part.test:80", "POST http://a.test"},
		[]string{"10.1.2.3:5432", "192.168.7.0/24:80", "[fd00::/64]:443", "203.0.113.5:443", "169.254.0.0/16:80"}))
	for _, c := range []struct {
		target, method, path string
		want                 Verdict
		proto                address.Protocol
	}{
		{"a.test", "", "", Allow, ""}, {"a.test:443", "", "", Allow, address.TLS}, {"a.test:80", "", "", Allow, address.HTTP}, {"a.test:22", "", "", Unknown, ""}, {"b.a.test:443", "", "", Unknown, ""},
		{"w.test:443", "", "", Unknown, ""}, {"x.w.test:443", "", "", Allow, address.TLS}, {"y.x.w.test:443", "", "", Allow, address.TLS}, {"x.w.test:22", "", "", Allow, address.TCP},
		{"no.w.test:443", "", "", Deny, ""}, {"no.w.test", "", "", Deny, ""}, {"bad.test:443", "", "", Deny, ""}, {"bad.test:9", "", "", Deny, ""}, {"bad.test", "", "", Deny, ""},
		{"part.test", "", "", Allow, ""}, {"part.test:443", "", "", Allow, address.TLS}, {"part.test:80", "", "", Deny, ""},
		{"db.test:5432", "", "", Allow, address.TCP}, {"db.test:443", "", "", Unknown, ""}, {"ssh.test:443", "", "", Allow, address.TCP}, {"t.test:8443", "", "", Allow, address.TLS},
		{"r.test:80", "", "", Allow, address.HTTP}, {"r.test:80", "GET", "/pub/x", Allow, address.HTTP}, {"r.test:80", "POST", "/pub/x", Deny, ""}, {"r.test:80", "GET", "/pub/../x", Deny, ""}, {"r.test:443", "", "", Unknown, ""},
		{"a.test:80", "GET", "/", Allow, address.HTTP}, {"a.test:80", "POST", "/", Deny, ""},
		{"unknown.test:443", "", "", Unknown, ""},
		{"203.0.113.5:443", "", "", Allow, address.TCP}, {"203.0.113.6:443", "", "", Deny, ""}, {"203.0.113.5:80", "", "", Deny, ""},
		{"10.1.2.3:5432", "", "", Allow, address.TCP}, {"10.1.2.4:5432", "", "", Deny, ""}, {"192.168.7.9:80", "", "", Allow, address.TCP}, {"192.168.8.9:80", "", "", Deny, ""}, {"[fd00::9]:443", "", "", Allow, address.TCP}, {"[fd00:0:0:1::9]:443", "", "", Deny, ""},
		{"169.254.1.1:80", "", "", Allow, address.TCP}, {"169.254.169.254:80", "", "", Deny, ""}, {"127.0.0.1:80", "", "", Deny, ""}, {"198.18.0.9:443", "", "", Deny, ""},
	} {
		d := r.Decide(Request{Target: target(t, c.target), Method: c.method, Path: c.path})
		if d.Verdict != c.want || c.proto != "" && d.Proto != c.proto {
			t.Errorf("%s %s %s: %s %s (%s), want %s %s", c.target, c.method, c.path, d.Verdict, d.Proto, d.Reason, c.want, c.proto)
		}
		if d.Rule == "" || d.Verdict != Allow && d.Reason == "" {
			t.Errorf("%s: no rule or reason: %+v", c.target, d)
		}
	}
}

func TestDecideInternet(t *testing.T) {
	r := newRules(reach(t, "internet", []string{"printer.local:631"}, []string{"*.bad.example.com"}, nil))
	for s, want := range map[string]Verdict{"example.com:443": Allow, "example.com:25565": Allow, "x.bad.example.com:443": Deny, "nas:443": Unknown, "x.local:443": Unknown, "a.internal:443": Unknown, "printer.local:631": Allow,
		"8.8.8.8:443": Deny, "10.0.0.1:443": Deny, "x.home.arpa:80": Unknown} {
		if d := r.Decide(Request{Target: target(t, s)}); d.Verdict != want {
			t.Errorf("%s: %s, want %s", s, d.Verdict, want)
		}
	}
}

// PX-010: what is not written opens nothing.
func TestNothingWrittenOpensNothing(t *testing.T) {
	for _, mode := range []string{"", "none", "locked", "dev", "bogus"} {
		r := newRules(policy.Reach{Mode: mode})
		for _, s := range []string{"a.test:443", "example.com:443", "8.8.8.8:53", "example.com"} {
			if d := r.Decide(Request{Target: target(t, s)}); d.Verdict == Allow {
				t.Errorf("mode %q allows %s", mode, s)
			}
		}
	}
}

func TestGrantExpires(t *testing.T) {
	r := newRules(reach(t, "dev", nil, []string{"deny.test"}, nil))
	now := time.Unix(1000, 0)
	r.now = func() time.Time { return now }
	r.grants = []grant{{entry: entry(t, "a.test"), expires: now.Add(time.Minute)}, {entry: entry(t, "b.test")}, {entry: entry(t, "deny.test")}}
	ask := func(s string) Decision { return r.Decide(Request{Target: target(t, s)}) }
	if d := ask("a.test:443"); d.Verdict != Allow || !d.Until.Equal(now.Add(time.Minute)) {
		t.Errorf("within its time: %+v", d)
	}
	if d := ask("a.test:22"); d.Verdict == Allow {
		t.Error("a grant of a host opened another port")
	}
	if d := ask("deny.test:443"); d.Verdict != Deny {
		t.Errorf("a grant beats a denial: %+v", d)
	}
	now = now.Add(time.Minute)
	if d := ask("a.test:443"); d.Verdict != Unknown {
		t.Errorf("after its time: %+v", d)
	}
	if d := ask("b.test:443"); d.Verdict != Allow || !d.Until.IsZero() {
		t.Errorf("for the session: %+v", d)
	}
}

// BenchmarkDecide: ten thousand rules, names of four labels.
func BenchmarkDecide(b *testing.B) {
	var allow, deny, ip []string
	for i := range 10_000 {
		allow = append(allow, fmt.Sprintf("host%d.a.test", i))
		if i%10 == 0 {
			deny = append(deny, fmt.Sprintf("*.d%d.test", i))
			ip = append(ip, fmt.Sprintf("10.%d.%d.0/24:443", i%250, i/250))
		}
	}
	r := newRules(reach(b, "dev", allow, deny, ip))
	hit := Request{Target: address.Target{Name: "host9999.a.test", Port: 443}}
	miss := Request{Target: address.Target{Name: "some.other.host.test", Port: 443}}
	literal := Request{Target: address.Target{Addr: netip.MustParseAddr("10.9.9.9"), Port: 443}}
	for name, q := range map[string]Request{"hit": hit, "miss": miss, "literal": literal} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r.Decide(q)
			}
		})
	}
}

// What an agent works without is refused as unknown hosts are, without a question; a rule or
// a grant allows it as any other.
func TestNeedless(t *testing.T) {
	all := reach(t, "dev", []string{"asked.news.test"}, nil, nil)
	all.Needless = []policy.Entry{entry(t, "news.test"), entry(t, "*.news.test")}
	r := newRules(all)
	for _, c := range []struct {
		target  string
		verdict Verdict
		unasked bool
	}{
		{"news.test", Unknown, true}, {"news.test:443", Unknown, true}, {"deep.news.test:80", Unknown, true},
		{"asked.news.test:443", Allow, false}, {"asked.news.test:22", Unknown, false}, {"other.test:443", Unknown, false},
	} {
		if d := r.Decide(Request{Target: target(t, c.target)}); d.Verdict != c.verdict || d.Unasked != c.unasked {
			t.Errorf("%s: %+v", c.target, d)
		}
	}
	r.grant(grant{entry: entry(t, "news.test")})
	if d := r.Decide(Request{Target: target(t, "news.test:443")}); d.Verdict != Allow {
		t.Errorf("granted: %+v", d)
	}
}
