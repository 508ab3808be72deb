package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/address"
)

func reachOf(t testing.TB, p *Policy, own ...string) Reach {
	t.Helper()
	r, err := p.Reach(own)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// sketch counts the entries of each group.
func sketch(all []Entry) string {
	var out []string
	n := 0
	for i, e := range all {
		if n++; i+1 == len(all) || all[i+1].Group != e.Group {
			out, n = append(out, fmt.Sprintf("%s:%d", e.Group, n)), 0
		}
	}
	return strings.Join(out, " ")
}

func TestReach(t *testing.T) {
	p := mustDecode(t, network)
	got := reachOf(t, p, "api.example")
	at := func(line int) Source { return Source{"p.toml", line} }
	rule := func(s string) address.Rule {
		r, err := address.ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if d := cmp.Diff(Entry{rule("api.example"), "api.example", OwnGroup, Source{File: "agent"}}, got.Allow[0]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Entry{rule("github.com"), "github.com", "github", at(2)}, got.Allow[1]); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Entry{rule("xn--bcher-kva.test"), "bücher.test", "", at(4)}, got.Allow[len(got.Allow)-1]); d != "" {
		t.Error(d)
	}
	want := "agent:1 github:9 gitlab:2 bitbucket:3 codeberg:2 npm:5 python:3 rust:4 go:5 java:8 ruby:3 php:3 dotnet:3 debian:1 ubuntu:5 haskell:4 :5"
	if s := sketch(got.Allow); s != want {
		t.Errorf("allow\n got %s\nwant %s", s, want)
	}
	if s := sketch(got.Deny); !strings.HasPrefix(s, ":2 tunnels:") || strings.Contains(s, "doh") {
		t.Errorf("deny %s", s)
	}
	got.Allow, got.Deny = nil, nil
	fd00, _ := address.ParsePrefix("[fd00::/64]:443")
	db, _ := address.ParsePrefix("192.168.1.20:5432")
	rest := Reach{Mode: "dev", IP: []Device{{db, "192.168.1.20:5432", at(6)}, {fd00, "[fd00::/64]:443", at(6)}},
		Publish: []Port{{3000, 3000, at(7)}, {8080, 80, at(7)}}, HostPorts: []uint16{5432}, Proxy: "http://proxy.example.test:3128",
		Budget: []Budget{{rule("*.example.test"), "*.example.test", 50e6, at(11)}}}
	if d := cmp.Diff(rest, got, cmp.Comparer(func(a, b address.Prefix) bool { return a == b })); d != "" {
		t.Error(d)
	}
}

func TestReachByMode(t *testing.T) {
	for mode, want := range map[string]string{
		"none": "", "locked": "agent:1 :1", "dev": "agent:1 github:9", "internet": "agent:1 github:9",
	} {
		p := mustDecode(t, "[network]\nmode = '"+mode+"'\nallow = ['x.test']\nip = ['10.0.0.1:80']\npublish = [80]\nproxy = 'env'\n")
		r := reachOf(t, p, "api.example")
		if s := sketch(r.Allow); !strings.HasPrefix(s, want) || (want == "") != (s == "") || mode == "locked" && s != want || r.Mode != mode {
			t.Errorf("%s: %s, %s", mode, r.Mode, s)
		}
		if none := mode == "none"; none != (r.Deny == nil) || none != (r.IP == nil) || none != (r.Publish == nil) || none != (r.Proxy == "none") {
			t.Errorf("%s: %+v", mode, r)
		}
	}
	if r := reachOf(t, &Policy{}, "api.example"); r.Mode != "none" || r.Allow != nil {
		t.Errorf("nothing written: %+v", r)
	}
}

// What no file could hold is an error with its source, never a rule left out.
func TestReachRefuses(t *testing.T) {
	bad := Source{File: "flag --bad"}
	for name, change := range map[string]func(*Network){
		"mode":    func(n *Network) { n.Mode = &Rule{"host", bad} },
		"allow":   func(n *Network) { n.Allow = List{{"*", bad}} },
		"deny":    func(n *Network) { n.Deny = List{{"http://x.test", bad}} },
		"ip":      func(n *Network) { n.IP = List{{"127.0.0.1:1", bad}} },
		"publish": func(n *Network) { n.Publish = List{{"1:1", bad}} },
		"host":    func(n *Network) { n.HostPorts = List{{"0", bad}} },
		"proxy":   func(n *Network) { n.Proxy = &Rule{"x", bad} },
		"budget":  func(n *Network) { n.Budget = []Setting{{"x.test", "1", bad}, {"x.test", "much", bad}} },
		"name":    func(n *Network) { n.Budget = []Setting{{"x.test:1", "1", bad}} },
	} {
		p := Builtin()
		change(&p.Network)
		r, err := p.Reach(nil)
		if err == nil || !strings.Contains(err.Error(), "flag --bad") || r.Allow != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Builtin().Reach([]string{"*"}); err == nil {
		t.Error("the agent's own host was not read")
	}
}

// Reach says the same as the model of the properties.
func TestReachIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawNet(t, "p")
		r, err := p.Reach(nil)
		if err != nil {
			t.Fatal(err)
		}
		m := model{mode: r.Mode}
		for _, e := range r.Allow {
			m.allow = append(m.allow, e.Rule)
		}
		for _, e := range r.Deny {
			m.deny = append(m.deny, e.Rule)
		}
		want := newModel(p)
		for _, at := range hostProbes {
			if m.permits(at) != want.permits(at) {
				t.Fatalf("%+v: %v, not %v", at, m.permits(at), want.permits(at))
			}
		}
	})
}

// crowd is a layer with ten thousand rules.
func crowd(suffix string) string {
	var b strings.Builder
	b.WriteString("[network]\nallow = [\n")
	for i := range 10000 {
		fmt.Fprintf(&b, "  \"host-%d.%s\",\n", i, suffix)
	}
	b.WriteString("]\n")
	return b.String()
}

// Ten thousand hosts of the user's meet ten thousand of a stranger's.
func TestCrowds(t *testing.T) {
	user, project := mustDecode(t, crowd("a.test")), mustDecode(t, crowd("b.test"))
	user.Network.Allow = append(user.Network.Allow, Rule{Value: "*.b.test"})
	p, ignored := Resolve(Layers{User: user, Project: project})
	if len(p.Network.Allow) != 10000 || ignored != nil {
		t.Errorf("%d rules, %d ignored", len(p.Network.Allow), len(ignored))
	}
	if got := Check(p, CheckEnv{}); got != nil {
		t.Error(got)
	}
	if r := reachOf(t, p); len(r.Allow) < 10000 {
		t.Errorf("%d entries", len(r.Allow))
	}
}

// A stranger's rules about one host's paths are not compared each with each.
func TestCrowdOfPaths(t *testing.T) {
	var base, over Policy
	base.Network.Mode = &Rule{Value: "dev"}
	for i := range maxHosts {
		r := Rule{Value: fmt.Sprintf("http://x.test/p%d", i)}
		base.Network.Allow, over.Network.Allow = append(base.Network.Allow, r), append(over.Network.Allow, Rule{Value: r.Value + "/q"})
	}
	if n := len(Tighten(&base, &over).Network.Allow); n != 0 {
		t.Errorf("%d rules", n)
	}
	if n := len(Tighten(&base, &base).Network.Allow); n != maxHosts {
		t.Errorf("%d of its own rules are left", n)
	}
}

func BenchmarkReachDefault(b *testing.B) {
	p := Builtin()
	for b.Loop() {
		reachOf(b, p, "api.example.org")
	}
}

func BenchmarkResolveDefault(b *testing.B) {
	for b.Loop() {
		p, _ := Resolve(Layers{})
		Check(p, CheckEnv{})
	}
}

func BenchmarkDecodeCrowd(b *testing.B) {
	text := crowd("a.test")
	for b.Loop() {
		mustDecode(b, text)
	}
}

func BenchmarkResolveCrowd(b *testing.B) {
	l := Layers{User: mustDecode(b, crowd("a.test")), Project: mustDecode(b, crowd("b.test"))}
	for b.Loop() {
		Resolve(l)
	}
}

func BenchmarkParseRuleOfGroups(b *testing.B) {
	for b.Loop() {
		for _, g := range allGroups {
			parsed(g.Hosts)
		}
	}
}
