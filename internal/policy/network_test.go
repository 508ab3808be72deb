package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"ringfence.dev/ringfence/internal/address"
)

const network = `[network]
mode = "dev"
groups = ["+haskell", "-docs", "-doh"]
allow = ["api.example.test", "*.example.test:8443", "tcp://db.example.test:5432", "GET,HEAD http://example.test/pub/*", "bücher.test"]
deny = ["telemetry.example.test", "*.example.test:22"]
ip = ["192.168.1.20:5432", "[fd00::/64]:443"]
publish = [3000, "8080:80"]
host-ports = [5432]
proxy = "http://proxy.example.test:3128"
[network.budget]
"*.example.test" = "50MB"
`

// probe is one attempt from inside.
type probe struct {
	name         address.Name
	port         uint16
	speaks       address.Protocol // what the bytes are
	method, path string           // of HTTP
}

var hostProbes = func() (out []probe) {
	names := []address.Name{"a.test", "b.a.test", "c.b.a.test", "b.example.org", "github.com", "hackage.haskell.org", "docs.rs", "dns.google", "webhook.site"}
	for _, n := range names {
		for _, port := range []uint16{443, 80, 22} {
			out = append(out, probe{n, port, address.TLS, "", ""}, probe{n, port, address.TCP, "", ""})
			for _, m := range []string{"GET", "PUT"} {
				out = append(out, probe{n, port, address.HTTP, m, "/"}, probe{n, port, address.HTTP, m, "/p"}, probe{n, port, address.HTTP, m, "/p/q"})
			}
		}
	}
	return out
}()

var ipProbes = []string{"10.0.0.1:80", "10.0.0.2:80", "10.0.1.1:80", "10.0.0.1:22", "[fd00::1]:80", "[fd00:0:0:1::1]:80"}

// model is what a gate would do, worked out without Reach and without Within.
type model struct {
	mode        string
	allow, deny []address.Rule
	ip          []address.Prefix
}

// parsedGroups are the rules of every group, read once.
var parsedGroups = func() map[string][]address.Rule {
	out := map[string][]address.Rule{}
	for _, g := range Groups() {
		out[g.Name] = parsed(g.Hosts)
	}
	return out
}()

func parsed(texts []string) (out []address.Rule) {
	for _, s := range texts {
		r, err := address.ParseRule(s)
		if err != nil {
			panic(err)
		}
		out = append(out, r)
	}
	return out
}

func newModel(p *Policy) model {
	n := &p.Network
	m := model{mode: "none", allow: parsed(values(n.Allow)), deny: parsed(values(n.Deny))}
	if n.Mode != nil {
		m.mode = n.Mode.Value
	}
	for _, v := range n.IP {
		prefix, _ := address.ParsePrefix(v.Value)
		m.ip = append(m.ip, prefix)
	}
	switches := map[string]byte{}
	for _, s := range n.Groups {
		switches[s.Value[1:]] = s.Value[0]
	}
	for _, g := range Groups() {
		on := switches[g.Name] == '+' || switches[g.Name] == 0 && slices.Contains(g.Modes, m.mode)
		switch {
		case on && g.Deny:
			m.deny = append(m.deny, parsedGroups[g.Name]...)
		case on && m.mode != "locked":
			m.allow = append(m.allow, parsedGroups[g.Name]...)
		}
	}
	return m
}

func (m model) permits(at probe) bool {
	if m.mode == "none" {
		return false
	}
	for _, r := range m.deny {
		if r.Covers(at.name) && (r.Port == 0 || r.Port == at.port) {
			return false
		}
	}
	if _, special := at.name.Special(); !special && (m.mode == "open" || m.mode == "internet" && at.natural()) {
		return true
	}
	return slices.ContainsFunc(m.allow, func(r address.Rule) bool {
		must, on := r.On(at.port)
		return r.Covers(at.name) && on && (must == address.TCP || must == at.speaks && (must != address.HTTP || r.Request(at.method, at.path)))
	})
}

func (m model) permitsIP(at address.Prefix) bool {
	return m.mode != "none" && slices.ContainsFunc(m.ip, func(have address.Prefix) bool {
		return have.Covers(at.Range.Addr(), at.Port)
	})
}

func (at probe) natural() bool {
	must, fixed := map[uint16]address.Protocol{443: address.TLS, 80: address.HTTP}[at.port]
	return !fixed || must == at.speaks
}

func values(l List) (out []string) {
	for _, r := range l {
		out = append(out, r.Value)
	}
	return out
}

// mostBytes is what may be sent to a name; no bound is a very high one.
func mostBytes(p *Policy, name address.Name) int64 {
	most := int64(1) << 62
	for _, s := range p.Network.Budget {
		if r, _ := address.ParseRule(s.Name); r.Covers(name) {
			n, _ := ParseBytes(s.Value)
			most = min(most, n)
		}
	}
	return most
}

// widerNetwork names the first thing that p lets through and base does not, or "".
func widerNetwork(base, p *Policy) string {
	now, was := newModel(p), newModel(base)
	for _, at := range hostProbes {
		if now.permits(at) && !was.permits(at) {
			return fmt.Sprintf("reaches %+v", at)
		}
	}
	for _, at := range ipProbes {
		if prefix, _ := address.ParsePrefix(at); now.permitsIP(prefix) && !was.permitsIP(prefix) {
			return "reaches " + at
		}
	}
	for _, name := range []address.Name{"a.test", "b.a.test"} {
		if mostBytes(p, name) > mostBytes(base, name) {
			return fmt.Sprintf("sends more to %s", name)
		}
	}
	for _, r := range p.Network.Publish {
		if !base.Network.Publish.has(r.Value) {
			return "publishes " + r.Value
		}
	}
	for _, r := range p.Network.HostPorts {
		if !base.Network.HostPorts.has(r.Value) {
			return "reaches port " + r.Value + " of the host"
		}
	}
	if upstreamOf(p) != upstreamOf(base) {
		return "another proxy"
	}
	if width(p.Network.Mode) > width(base.Network.Mode) {
		return "mode"
	}
	return ""
}

// drawHost makes rules whose names, ports and paths meet often.
var drawHost = rapid.Custom(func(t *rapid.T) string {
	pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "part") }
	return pick("", "", "", "GET ", "GET,PUT ") + pick("", "", "http://", "https://", "tcp://") + pick("", "*.") +
		pick("a.test", "b.a.test", "github.com", "example.org", "webhook.site") + pick("", "", ":443", ":80", ":22") + pick("", "", "/p", "/p/*")
}).Filter(func(s string) bool { return checkHost(s) == nil })

func drawNetwork(t *rapid.T, label string) Network {
	n := Network{
		Allow:     drawList(t, label+" allow", drawHost),
		Deny:      drawList(t, label+" deny", drawHost.Filter(func(s string) bool { return checkDeny(s) == nil })),
		IP:        drawList(t, label+" ip", rapid.SampledFrom([]string{"10.0.0.1:80", "10.0.0.0/24:80", "10.0.0.0/16:80", "10.0.0.1:22", "[fd00::/64]:80", "[fd00::/48]:80"})),
		Publish:   drawList(t, label+" publish", rapid.SampledFrom([]string{"80", "81", "80:81"})),
		HostPorts: drawList(t, label+" host ports", rapid.SampledFrom([]string{"80", "81"})),
	}
	if rapid.Bool().Draw(t, label+" mode written") {
		n.Mode = &Rule{Value: rapid.SampledFrom(modes).Draw(t, label+" mode")}
	}
	if rapid.Bool().Draw(t, label+" proxy written") {
		n.Proxy = &Rule{Value: rapid.SampledFrom([]string{"none", "env", "http://p.test:1"}).Draw(t, label+" proxy")}
	}
	if rapid.Bool().Draw(t, label+" groups written") {
		n.Groups = List{}
		for _, g := range []string{"github", "haskell", "docs", "doh", "drops"} {
			if s := rapid.SampledFrom([]string{"", "", "+", "-"}).Draw(t, label+" "+g); s != "" {
				n.Groups = append(n.Groups, Rule{Value: s + g})
			}
		}
	}
	if rapid.Bool().Draw(t, label+" budget written") {
		n.Budget = []Setting{}
		for _, host := range []string{"a.test", "*.a.test"} {
			if v := rapid.SampledFrom([]string{"", "1KB", "1KiB"}).Draw(t, label+" "+host); v != "" {
				n.Budget = append(n.Budget, Setting{Name: host, Value: v})
			}
		}
	}
	return n
}

// drawNet is a policy about nothing but the network.
func drawNet(t *rapid.T, label string) *Policy { return &Policy{Network: drawNetwork(t, label)} }

func TestTightenNetworkNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, over := drawNet(t, "base"), drawNet(t, "over")
		if w := widerNetwork(base, Tighten(base, over)); w != "" {
			t.Fatalf("wider than base: %s", w)
		}
	})
}

// One key at a time, since of all keys together hardly any pair widens nothing.
func TestNoWideningOfNetworkMeansMergeDoesNotWiden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, over := drawNet(t, "base"), drawNet(t, "over")
		one, n := &over.Network, Network{Mode: over.Network.Mode}
		switch rapid.IntRange(0, 5).Draw(t, "key") {
		case 0:
			n.Groups = one.Groups
		case 1:
			n.Allow, n.Deny = one.Allow, one.Deny
		case 2:
			n.IP = one.IP
		case 3:
			n.Publish, n.HostPorts = one.Publish, one.HostPorts
		case 4:
			n.Proxy = one.Proxy
		case 5:
			n.Budget = one.Budget
		}
		over.Network = n
		if len(Widens(base, over)) > 0 {
			return
		}
		if w := widerNetwork(base, Merge(base, over)); w != "" {
			t.Fatalf("not reported: %s", w)
		}
	})
}

// An untrusted project leaves nothing behind that a later flag could bring to
// life: with it, the session never reaches more than without it. A ceiling is left
// out here. It keeps of two rules that overlap neither, and the project may name
// the very part that both allow.
func TestProjectNeverWidensWhatFlagsSay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := Layers{User: drawNet(t, "user"), Flags: drawNet(t, "flags")}
		without, _ := Resolve(l)
		l.Project = drawNet(t, "project")
		with, _ := Resolve(l)
		if w := widerNetwork(without, with); w != "" {
			t.Fatalf("the project widens: %s", w)
		}
	})
}

// Where a ceiling writes mode and lists, it bounds every host of a locked session.
func TestTightenNetworkStaysUnderCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base, over := drawNet(t, "base"), drawNet(t, "over")
		over.Network.Mode = &Rule{Value: "locked"}
		for _, l := range []*List{&over.Network.Allow, &over.Network.IP, &over.Network.Publish, &over.Network.HostPorts} {
			if *l == nil {
				*l = List{}
			}
		}
		over.Network.Groups = nil // those that deny are on unless base says otherwise
		base.Network.Groups = nil
		out := Tighten(base, over)
		out.Network.Proxy = over.Network.Proxy
		if w := widerNetwork(over, out); w != "" {
			t.Fatalf("wider than the ceiling: %s", w)
		}
	})
}

func TestTightenNetwork(t *testing.T) {
	for _, c := range []struct{ name, base, over, want string }{
		{"tighter mode", "mode = 'internet'", "mode = 'dev'", `mode = "dev"`},
		{"wider mode", "mode = 'locked'", "mode = 'dev'", `mode = "locked"`},
		{"covered stays", "allow = ['a.x.test', 'b.test']", "allow = ['*.x.test']", `allow = [ "a.x.test", ]`},
		{"narrower joins", "allow = ['*.x.test']", "allow = ['a.x.test', 'y.test']", `allow = [ "a.x.test", ]`},
		{"of a group does not join", "mode = 'dev'", "allow = ['github.com']", `mode = "dev" allow = []`},
		{"denials join", "deny = ['a.test']", "deny = ['b.test', 'a.test']", `deny = [ "a.test", "b.test", ]`},
		{"range", "ip = ['10.0.0.0/24:80', '10.9.0.1:80']", "ip = ['10.0.0.0/16:80', '10.0.0.7:80']", `ip = [ "10.0.0.0/24:80", "10.0.0.7:80", ]`},
		{"ports", "publish = [1, '2:3']\nhost-ports = [4, 5]", "publish = ['2:3', 6]\nhost-ports = []", `publish = [ "2:3", ] host-ports = []`},
		{"groups", "groups = ['+haskell', '-doh', '-docs']", "groups = ['-haskell', '+doh', '+docs', '-drops']", `groups = [ "-docs", "-haskell", "+doh", ]`},
		{"proxy", "proxy = 'env'", "proxy = 'none'", `proxy = "env"`},
		{"lower budget", "budget = {'a.test' = '1KiB', 'b.test' = '1KB'}", "budget = {'A.test' = '1KB', 'b.test' = '1KiB', 'c.test' = '5'}",
			` [network.budget] "A.test" = "1KB" "b.test" = "1KB" "c.test" = "5"`},
	} {
		got := rules(t, Tighten(mustDecode(t, "[network]\n"+c.base), mustDecode(t, "[network]\n"+c.over)))
		if got = strings.TrimPrefix(got, "[network] "); strings.TrimSpace(got) != strings.TrimSpace(c.want) {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestMergeNetwork(t *testing.T) {
	for _, c := range []struct{ name, base, over, want string }{
		{"words", "mode = 'dev'\nproxy = 'env'", "mode = 'none'\nproxy = 'none'", `mode = "none" proxy = "none"`},
		{"lists", "allow = ['a.test']\npublish = [1]", "allow = ['b.test', 'a.test']\npublish = [2]", `allow = [ "a.test", "b.test", ] publish = [ 1, 2, ]`},
		{"switch back", "groups = ['-docs', '+rust']", "groups = ['+docs', '+rust', '-go']", `groups = [ "+rust", "+docs", "-go", ]`},
		{"budget", "budget = {'a.test' = '1KB', 'b.test' = '1KB'}", "budget = {'a.test' = '2KB'}", `[network.budget] "a.test" = "2KB" "b.test" = "1KB"`},
	} {
		got := rules(t, Merge(mustDecode(t, "[network]\n"+c.base), mustDecode(t, "[network]\n"+c.over)))
		if got = strings.TrimPrefix(got, "[network] "); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestWidensNetwork(t *testing.T) {
	user := "mode = 'dev'\nallow = ['*.x.test']\nip = ['10.0.0.0/24:80']\npublish = [1]\nproxy = 'env'\nbudget = {'a.test' = '1KiB'}\n"
	for _, c := range []struct{ base, over, want string }{
		{user, "mode = 'internet'", `mode "internet"`},
		{user, "mode = 'locked'", ""},
		{user, "groups = ['+rust', '+haskell', '-docs', '-doh', '+drops']", `groups "+haskell" groups "-doh"`},
		{"mode = 'internet'", "groups = ['+haskell', '-drops']", `groups "-drops"`},
		{"mode = 'none'", "groups = ['+rust', '-drops']", `groups "+rust" groups "-drops"`},
		{"mode = 'locked'\ngroups = ['-drops']", "groups = ['+rust', '-drops']", `groups "+rust"`},
		{user, "allow = ['a.x.test', 'x.test', 'github.com:22', 'github.com:23', 'tcp://docs.rs:443']", `allow "x.test" allow "github.com:23" allow "tcp://docs.rs:443"`},
		{"mode = 'none'", "allow = ['github.com']", `allow "github.com"`},
		{"mode = 'internet'", "allow = ['example.org:22', 'tcp://example.org:443', 'printer.local', 'printer']",
			`allow "tcp://example.org:443" allow "printer.local" allow "printer"`},
		{user, "deny = ['x.test']", ""},
		{user, "ip = ['10.0.0.9:80', '10.0.0.9:81', '10.0.0.0/16:80']", `ip "10.0.0.9:81" ip "10.0.0.0/16:80"`},
		{user, "publish = [1, 2]\nhost-ports = [1]", `publish "2" host-ports "1"`},
		{user, "proxy = 'none'", `proxy "none"`},
		{"", "proxy = 'none'", ""},
		{user, "budget = {'A.test' = '2KB', 'b.test' = '9GB'}", `budget "A.test=2KB"`},
	} {
		var got []string
		for _, w := range Widens(mustDecode(t, "[network]\n"+c.base), mustDecode(t, "[network]\n"+c.over)) {
			got = append(got, fmt.Sprintf("%s %q", w.Key, w.Value))
			if w.Section != "network" || w.Source.Line == 0 {
				t.Errorf("%+v", w)
			}
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q over %q:\n got %s\nwant %s", c.over, c.base, s, c.want)
		}
	}
}

// The proxy of the ceiling holds; that of an untrusted project is named and ignored.
func TestResolveProxy(t *testing.T) {
	l := Layers{Project: decodeAs(t, ProjectFile, "network.proxy = 'http://evil.test:1'\n")}
	p, ignored := Resolve(l)
	if p.Network.Proxy != nil || len(ignored) != 1 || ignored[0].Key != "proxy" {
		t.Errorf("%v, %v", p.Network.Proxy, ignored)
	}
	l.Ceiling = decodeAs(t, "/etc/ringfence/policy.toml", "network.proxy = 'http://proxy.test:1'\n")
	l.Flags = decodeAs(t, "flag --proxy", "network.proxy = 'none'\n")
	if p, _ := Resolve(l); p.Network.Proxy.Value != "http://proxy.test:1" {
		t.Errorf("%v", p.Network.Proxy)
	}
}

func TestCheckNetwork(t *testing.T) {
	p := Merge(
		decodeAs(t, "user.toml", `[network]
mode = "dev"
groups = ["-tunnels"]
allow = ["a.test", "b.test:8443", "https://c.test", "d.test", "x.ngrok.io", "webhook.site", "localhost:3000", "e.test", "*.github.io"]
deny = ["a.test", "b.test:8443", "c.test:443"]
publish = [3000, "3001:5432", "5433:22"]
host-ports = [5432, 5433]
`), decodeAs(t, "flag --x", "[network]\ndeny = ['e.test', 'd.test:443']\npublish = ['3000:80']\n"))
	texts := func(all []Problem) (out []string) {
		for _, pr := range all {
			out = append(out, fmt.Sprintf("%s: %s", pr.Source, pr.Text))
		}
		return out
	}
	want := []string{
		`user.toml:4: "a.test" is both allowed and, in user.toml:5, denied by "a.test"`,
		`user.toml:4: "b.test:8443" is both allowed and, in user.toml:5, denied by "b.test:8443"`,
		`user.toml:4: "https://c.test" is both allowed and, in user.toml:5, denied by "c.test:443"`,
		`user.toml:4: "webhook.site" is denied by the group drops: switch it off by "-drops" in [network] groups`,
		`user.toml:4: "localhost:3000" is the sandbox itself: a port of the host's loopback is one of [network] host-ports`,
		`user.toml:6: port 5432 inside cannot be published: by user.toml:7 it leads to the host`,
		`user.toml:6: port 5433 of the host cannot be published: by user.toml:7 it is to be a server of the host`,
		`flag --x:3: port 3000 of the host is already published in user.toml:6`,
	}
	if d := cmp.Diff(want, texts(Check(p, CheckEnv{}))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	want = []string{
		`user.toml:4: "e.test" is allowed in vain: flag --x:2 denies it`,
		`user.toml:4: "*.github.io" lets anybody in: who likes can have a name below github.io`,
	}
	if d := cmp.Diff(want, texts(Cautions(p))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	p = mustDecode(t, "[network]\nmode = 'dev'\ngroups = ['+drops']\nallow = ['webhook.site']\n")
	want = []string{`p.toml:4: "webhook.site" is allowed in vain: the group drops denies it`}
	if d := cmp.Diff(want, texts(append(Check(p, CheckEnv{}), Cautions(p)...))); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	closed := mustDecode(t, "[network]\nmode = 'none'\nallow = ['a.test']\nip = ['10.0.0.1:80']\npublish = [80]\n")
	if got := append(Check(closed, CheckEnv{}), Cautions(closed)...); got != nil {
		t.Errorf("mode none: %v", got)
	}
}

func TestCautionsOfSwitches(t *testing.T) {
	for mode, want := range map[string]string{
		"none": "", "locked": `"+rust" has no effect: mode locked has no groups`, "dev": "",
		"internet": `"-docs" has no effect: mode internet reaches every public host`,
	} {
		got := Cautions(mustDecode(t, "[network]\nmode = '"+mode+"'\ngroups = ['+rust', '-docs', '-doh']\n"))
		if want == "" && got != nil || want != "" && (len(got) != 1 || got[0].Text != want) {
			t.Errorf("%s: %v", mode, got)
		}
	}
}

func TestAdmit(t *testing.T) {
	for _, c := range []struct {
		key, value string
		ok         bool
	}{
		{"allow", "x.test:22", true}, {"allow", "*", false}, {"deny", "x.test:22", true}, {"deny", "tcp://x.test:22", false},
		{"ip", "10.0.0.1:22", true}, {"ip", "127.0.0.1:22", false}, {"publish", "8080:80", true}, {"publish", "80", true}, {"publish", "080", false},
		{"host-ports", "80", true}, {"host-ports", "0", false}, {"proxy", "env", true}, {"proxy", "on", false}, {"mode", "dev", true}, {"mode", "", false},
		{"groups", "+rust", true}, {"groups", "+", false}, {"groups", "", false}, {"budget", "1MB", false}, {"nothing", "", false},
	} {
		if err := Admit("network", c.key, c.value); (err == nil) != c.ok {
			t.Errorf("%s %q: %v", c.key, c.value, err)
		}
	}
}
