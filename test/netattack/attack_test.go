package netattack

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/netattack/probe"
	"ringfence.dev/ringfence/test/stage"
)

// rows are all of them, with the numbers of their probes.
func rows(t testing.TB) []row {
	t.Helper()
	all := slices.Concat(netRows(), dnsRows(), guardRows(), proxyRows(), tlsRows(), exfilRows())
	seen := map[string]bool{}
	for i := range all {
		r := &all[i]
		if seen[r.name()] {
			t.Fatalf("%s is there twice", r.name())
		}
		seen[r.name()], r.p.ID = true, r.name()
	}
	return all
}

func probes(all []row) (out []probe.Probe) {
	for _, r := range all {
		out = append(out, r.p)
	}
	return out
}

// flag is one way to launch.
type flag struct {
	name    string
	whole   bool // every user makes every attempt under it; of the others they share the attempts
	args    []string
	bare    bool     // without the base policy: only that it is closed can be said
	six     bool     // by IPv6 wherever a row leaves the choice
	slow    bool     // few enough in a second for the journal to tell of each
	proxied string   // through this proxy everything goes
	reaches []string // beside what the base policy opens: "tcp 10.0.0.1:9999"
	more    []row    // what the flag is for
}

// base is what the rows take for granted.
var base = []string{"--allow-host", "allowed.test", "--allow-host", "*.wild.test", "--allow-host", fmt.Sprintf("*.wild.test:%d", canaryPort), "--allow-host", fmt.Sprintf("*.wild.test:%d", hostPort),
	"--allow-host", "GET,HEAD http://registry.test"}

func flags() []flag {
	works := func(what string, p probe.Probe, open string) row {
		return row{id: "NT-015", what: what, want: works, p: p, open: sign{reply: open}}
	}
	ip := fmt.Sprintf("10.0.0.1:%d", allowedIP)
	atIP := works("the address that is allowed", talk(ip, 0, "canary "+ip), "canary "+ip)
	ip6 := fmt.Sprintf("[fd00::1]:%d", allowedIP)
	atIP6 := works("the address of IPv6 that is allowed", talk(ip6, 0, "canary "+ip6), "canary "+ip6)
	atPort := works("the port of the host that is allowed", talk(fmt.Sprintf("127.0.0.1:%d", hostPort), 0, "canary host"), "canary host")
	crates := works("a host of a group that is on", talk("static.crates.io:443", 4, "origin ", inTLS("static.crates.io")...), "origin static.crates.io ")
	public := works("a public host", talk("origin.example.com:443", 4, "origin ", inTLS("origin.example.com")...), "origin origin.example.com ")
	publicAt := []string{"tcp 203.0.113.22:443", "tcp [2001:db8::22]:443"}
	openAt := []string{"tcp " + open4 + ":443", "tcp " + open4 + ":80", "tcp [" + open6 + "]:443", "tcp [" + open6 + "]:80"}
	shut := byName("NT-015", "no.wild.test", "4", "canary ")
	shut[0].record = "dns no.wild.test"
	proxy := "http://" + proxyAddr
	return []flag{
		{name: "plain", whole: true, bare: true},
		{name: "none", args: []string{"--net", "none"}, bare: true},
		{name: "allow-host", whole: true, slow: true},
		{name: "internet", args: []string{"--net", "internet"}, more: []row{public}, reaches: slices.Concat(publicAt, openAt)},
		{name: "locked", args: []string{"--net", "locked"}, six: true},
		{name: "groups", args: []string{"--net", "dev,+rust,-docs"}, more: []row{crates}, reaches: openAt},
		{name: "deny-host", args: []string{"--deny-host", "x.test", "--deny-host", "no.wild.test"}, more: shut},
		{name: "allow-ip", args: []string{"--allow-ip", ip}, more: []row{atIP}, reaches: []string{"tcp " + ip}},
		{name: "allow-ip6", args: []string{"--allow-ip", ip6}, more: []row{atIP6}, reaches: []string{"tcp " + ip6}},
		{name: "publish", args: []string{"--publish", "3000"}},
		{name: "host-port", args: []string{"--host-port", fmt.Sprint(hostPort)}, more: []row{atPort}},
		{name: "proxy", args: []string{"--proxy", proxy}, proxied: proxyAddr},
		{name: "socks-proxy", args: []string{"--proxy", "socks5://" + socksProxyAddr}, proxied: socksProxyAddr},
		{name: "verbose", args: []string{"--verbose"}, six: true},
		{name: "no-input", args: []string{"--no-input"}, six: true, slow: true},
		{name: "tunnels", args: []string{"--net", "internet", "--allow-host", "*.visualstudio.com"}, reaches: openAt},
		{name: "everything", args: []string{"--net", "internet,+rust,-docs", "--deny-host", "x.test", "--allow-ip", ip, "--publish", "3000", "--host-port", fmt.Sprint(hostPort), "--proxy", proxy, "--verbose", "--no-input"},
			proxied: proxyAddr, more: []row{atPort}},
	}
}

// mine are the attempts of this user under the i-th flag. The gate that judges them is
// the same program, outside of the sandbox, for every user.
func (f *flag) mine(i int, all []row) (out []row) {
	for j, r := range all {
		if f.whole || r.p.Last || stage.Mine(i+j) {
			out = append(out, r)
		}
	}
	return out
}

// scenes are the attacks that need more than a list of attempts.
var scenes = []struct {
	name string
	play func(*testing.T, *summary)
}{
	{"same-verdict", sameVerdict}, {"two-sessions", twoSessions}, {"killed", killed}, {"published", published},
	{"ambient", ambient}, {"searched", searched}, {"rebound", rebound}, {"crowded", crowded},
	{"second-hello", secondHello}, {"patterns", patterns}, {"emptiness", emptiness},
	{"read-only", readOnly}, {"paths", paths}, {"redirected", redirected}, {"discreet", discreet},
	{"bounded", bounded}, {"residuals", residuals}, {"forge", forge}, {"telemetry", telemetryHosts},
}

func TestAttacks(t *testing.T) {
	all := rows(t)
	var sum summary
	left := 1 + len(flags()) + len(scenes)
	run := func(name string, play func(*testing.T)) {
		t.Run(name, func(t *testing.T) {
			left--
			play(t)
		})
	}
	run("control", func(t *testing.T) { controls(t, all) })
	for i, f := range flags() {
		sum.flag = f.name
		run("flag-"+f.name, func(t *testing.T) { underFlag(t, f, f.mine(i, all), &sum) })
	}
	sum.flag = ""
	for _, s := range scenes {
		run(s.name, func(t *testing.T) { s.play(t, &sum) })
	}
	if left == 0 { // not only a part was asked for
		sum.check(t)
	}
	t.Log("\n" + sum.String())
}

// controls makes all attempts on the bare host: each must succeed there.
func controls(t *testing.T, all []row) {
	w := begin(t)
	serve(t, w, "connect", proxyAddr)
	all = slices.DeleteFunc(slices.Clone(all), func(r row) bool { return r.alone != "" || r.rootly && os.Getuid() != 0 })
	v4, v6 := careless(t)
	argv := ask(t, w, probes(all), v4, v6)
	r := w.Bare(argv...)
	got, s := answers(t, w, r), look(w)
	for i := range all {
		r := &all[i]
		if a := got[r.name()]; !r.isOpen(a, s) {
			t.Errorf("%s: closed outside: the probe proves nothing: %s", r.name(), show(a))
		}
	}
}

func show(a probe.Answer) string {
	return fmt.Sprintf("end %q, text %q, got %.300q", a.End, a.Text, a.Got)
}

// underFlag makes all attempts in a sandbox that was launched with a flag.
func underFlag(t *testing.T, f flag, all []row, sum *summary) {
	w := begin(t)
	if f.proxied != "" {
		kind := "connect"
		if f.proxied == socksProxyAddr {
			kind = "socks"
		}
		serve(t, w, kind, f.proxied)
	}
	all = slices.Concat(all, numbered(f.more))
	if f.six {
		all = turned(all)
	}
	args := f.args
	if !f.bare {
		args = slices.Concat(base, f.args)
	}
	pace := "0s"
	if f.slow {
		pace = "7ms"
	}
	got, r := tryAt(t, w, args, probes(all), pace)
	s := look(w)
	s.records = r.Journal
	for i := range all {
		if row := &all[i]; row.but[f.name] == "" {
			judge(t, row, f, got[row.name()], s)
			sum.add(row)
		}
	}
	if f.slow {
		told(t, f, all, s)
		asked(t, w, slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--no-input" }), s.records)
	}
	witnesses(t, f, s)
	replayed(t, w, args, s.records)
}

// told holds the journal against the rows. What was allowed is always there. Where
// more was refused in one second than it tells one by one, it has at least the number.
func told(t *testing.T, f flag, all []row, s *seen) {
	t.Helper()
	var missing []string
	strict := -s.strict()
	for i := range all {
		r := &all[i]
		if r.strict {
			strict++
		}
		if r.record == "" || r.but[f.name] != "" {
			continue
		}
		if r.want == works && !s.has(journal.Allow, r.record) {
			t.Errorf("%s: the journal has not that %q was allowed", r.name(), r.record)
		}
		if r.want == closed && !s.has(journal.Deny, r.record) {
			missing = append(missing, fmt.Sprintf("%s: %q", r.name(), r.record))
		}
	}
	if n := len(missing) + max(strict, 0); n > s.untold() {
		t.Errorf("the journal lacks %d refusals and says so of %d; %d of those were not understood, the others are:\n%s", n, s.untold(), max(strict, 0), strings.Join(missing, "\n"))
	}
}

// turned are rows that go by IPv6 where they went by IPv4: to names, which have
// addresses of both, to the proxy endpoint and to the resolver.
func turned(all []row) []row {
	all = slices.Clone(all)
	for i := range all {
		r := &all[i]
		if ask := r.p.Ask; ask != nil && ask.Server == "" {
			turned := *ask
			turned.Server, r.p.Ask, r.family = "[::1]:53", &turned, "6"
		}
		if r.p.Talk == nil {
			continue
		}
		turned := *r.p.Talk
		if turned.Family == 4 {
			turned.Family, r.family = 6, "6"
		}
		if turned.To == probe.Proxy4 {
			turned.To, r.family = probe.Proxy6, "6"
		}
		r.p.Talk = &turned
	}
	return all
}

func numbered(list []row) []row {
	for i := range list {
		list[i].p.ID = list[i].name()
	}
	return list
}

// judge holds what became of one row against what must.
func judge(t *testing.T, r *row, f flag, a probe.Answer, s *seen) {
	t.Helper()
	open := r.isOpen(a, s)
	if r.want == works {
		if !f.bare && !open {
			t.Errorf("%s: does not work: %s", r.name(), show(a))
		}
	} else if open {
		t.Errorf("%s: OPEN: %s", r.name(), show(a))
	}
	if f.bare {
		return
	}
	if !strings.Contains(string(a.Got), r.says) {
		t.Errorf("%s: no %q: %s", r.name(), r.says, show(a))
	}
	if r.check != nil {
		if err := r.check(a); err != nil {
			t.Errorf("%s: %v: %s", r.name(), err, show(a))
		}
	}
	if r.witness != nil {
		if err := r.witness(s); err != nil {
			t.Errorf("%s: %v", r.name(), err)
		}
	}
}

// witnesses: nothing else than what policy opens was asked for, dialled or told.
func witnesses(t *testing.T, f flag, s *seen) {
	t.Helper()
	for _, p := range s.packets {
		text := packetText(p)
		if f.proxied != "" {
			if text != "tcp "+f.proxied {
				t.Errorf("dialled past the proxy: %s", text)
			}
			continue
		}
		if f.bare || !dialled(p) && !slices.Contains(f.reaches, text) {
			t.Errorf("dialled: %s", text)
		}
	}
	for _, q := range s.queries {
		name := strings.ToLower(q.Name)
		if f.bare || !slices.Contains([]string{"allowed.test", "registry.test"}, name) && !strings.HasSuffix(name, ".wild.test") && !slices.Contains(f.asks(), name) {
			t.Errorf("asked for: %+v", q)
		}
	}
	let, came := judged(s.records), arrived(s.heard)
	if len(came) == 0 && !f.bare {
		t.Error("no request arrived that could be held against the journal")
	}
	for what, n := range came {
		if n > let[what] {
			t.Errorf("%d requests %q arrived, %d were judged", n, what, let[what])
		}
	}
	for _, h := range s.heard {
		for _, bad := range []string{"smuggled", "denied.test", "evil.test"} {
			if strings.Contains(string(h.First), bad) {
				t.Errorf("a server heard %q: %q", bad, h.First)
			}
		}
	}
}

// asks are the names that a flag lets be looked up.
func (f *flag) asks() []string {
	if strings.Contains(strings.Join(f.args, " "), "internet") {
		return append(slices.Clone(telemetry), "origin.example.com")
	}
	if f.name == "groups" {
		return []string{"static.crates.io"}
	}
	return nil
}
