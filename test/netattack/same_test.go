package netattack

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/internal/journal"
	"ringfence.dev/ringfence/test/netattack/probe"
)

// targets are judged by every way to the gate.
var targets = []string{
	"allowed.test:443", "allowed.test:80", "allowed.test:22", "denied.test:443", "denied.test:80", "wild.test:443", "a.b.wild.test:443", "sub.wild.test:443", "sub.wild.test:80",
	"dns.google:443", "abc.ngrok.io:443", "webhook.site:80", "printer:443", "secret.local:80", "static.crates.io:443", "react.dev:80", "origin.example.com:443",
	"10.0.0.1:9999", "10.0.0.1:9998", "10.0.0.2:9999", "203.0.113.10:443", "169.254.169.254:80", "192.0.2.2:7701", "[fd00::1]:80", "[2001:db8::10]:443", "[64:ff9b::a00:1]:80",
	"at-10-0-0-1-x.wild.test:80", "at-10-0-0-1-x.wild.test:443", "at-127-0-0-1-x.wild.test:7701", "chain.wild.test:80",
}

// sameVerdict (NT-016): a client that goes straight, one that asks the proxy in any of
// its languages, and DNS are told the same, for the same reason.
func sameVerdict(t *testing.T, sum *summary) {
	sum.add(&row{id: "NT-016"})
	w := begin(t)
	var list []probe.Probe
	for _, target := range targets {
		for way, p := range fourWays(t, target) {
			p.ID = way + " " + target
			list = append(list, p)
		}
	}
	args := slices.Concat(base, []string{"--deny-host", "sub.wild.test", "--allow-ip", "10.0.0.1:9999"})
	_, r := try(t, w, args, list)
	for _, target := range targets {
		want := verdictOf(r.Journal, "connect", target)
		if want == "" {
			t.Errorf("%s: CONNECT left no record", target)
		}
		for _, way := range []string{"tcp", "socks", "http"} {
			if got := verdictOf(r.Journal, way, target); got != want && !(way == "http" && strings.HasSuffix(target, ":443")) {
				t.Errorf("%s: by %s %s\nbut by CONNECT %s", target, way, got, want)
			}
		}
	}
}

// fourWays connects to a target, sends what its port is for, and ends.
func fourWays(t *testing.T, target string) map[string]probe.Probe {
	t.Helper()
	host, port, err := net.SplitHostPort(target)
	if err != nil {
		t.Fatal(err)
	}
	var n uint16
	fmt.Sscan(port, &n)
	say := probe.Step{Send: []byte("x"), Shut: true}
	switch port {
	case "443":
		say.Send = hello{names: []string{host}}.record()
	case "80":
		say.Send = []byte(get(target[:strings.LastIndexByte(target, ':')]))
	}
	request := socksName(host, n)
	if a, err := netip.ParseAddr(host); err == nil {
		request = socksAddr(a, n)
	}
	return map[string]probe.Probe{
		"tcp":     talk(target, 0, "", say),
		"connect": tunnel(connectTo(target), "", say),
		"socks":   socksTo(request, "", say),
		"http":    talk(probe.Proxy4, 0, "", probe.Step{Send: []byte("GET http://" + target + "/ HTTP/1.1\r\nHost: " + target + "\r\n\r\n"), Shut: true}),
	}
}

// verdictOf is what the journal says about a target by one way. A captured
// connection to a denied name is denied by DNS. Of several records about one
// connection the last one counts.
func verdictOf(records []journal.Record, way, target string) (last string) {
	host, _, _ := net.SplitHostPort(target)
	for _, r := range records {
		text := recordText(r)
		if r.Event != journal.Decision || text != way+" "+target && !(way == "tcp" && text == "dns "+host && r.Verdict == journal.Deny) {
			continue
		}
		last = fmt.Sprintf("%s, rule %q, reason %q", r.Verdict, r.Rule, strings.TrimPrefix(r.Reason, "not reached: "))
	}
	return last
}
