package netattack

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ringfence.dev/ringfence/test/netattack/probe"
)

// request is one request in the clear by one of the ways there are.
func request(way, method, host, path string) probe.Probe {
	origin := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody", method, path, host)
	absolute := strings.Replace(origin, " "+path+" ", " http://"+host+path+" ", 1)
	var p probe.Probe
	switch way {
	case "tcp":
		p = talk(host+":80", 4, "origin ", probe.Say(origin))
	case "tcp6":
		p = talk(host+":80", 6, "origin ", probe.Say(origin))
	case "second":
		first := fmt.Sprintf("GET /pub/a HTTP/1.1\r\nHost: %s\r\n\r\n", host)
		p = talk(host+":80", 4, "origin ", probe.Step{Send: []byte(first), Until: "origin "}, probe.Say(origin))
	case "connect":
		p = tunnel(connectTo(host+":80"), "origin ", probe.Say(origin))
	case "socks":
		p = socksTo(socksName(host, 80), "origin ", probe.Say(origin))
	case "http":
		p = talk(probe.Proxy4, 0, "origin ", probe.Say(absolute))
	}
	p.ID = fmt.Sprintf("%s %s %s", way, method, path)
	return p
}

var requestWays = []string{"tcp", "tcp6", "second", "connect", "socks", "http"}

// readOnly (EX-004, PX-045): where a rule names methods, no other passes. That is how
// a registry is read and not written to.
func readOnly(t *testing.T, sum *summary) {
	for _, f := range []string{"4", "6"} {
		sum.add(&row{id: "EX-004", family: f})
		sum.add(&row{id: "PX-045", family: f})
	}
	w := begin(t)
	const host = "registry.example.com"
	good := []string{"GET", "HEAD", "OPTIONS"}
	var list []probe.Probe
	for _, way := range requestWays {
		for _, m := range []string{"GET", "HEAD", "OPTIONS", "PUT", "POST", "DELETE", "PATCH", "PROPFIND", "MKCOL", "PUBLISH"} {
			list = append(list, request(way, m, host, "/pub/canary"))
		}
	}
	secure := talk(host+":443", 4, "origin ", inTLS(host)...)
	secure.ID = "tls GET /"
	list = append(list, secure)
	got, r := try(t, w, []string{"--allow-host", "GET,HEAD,OPTIONS http://" + host}, list)
	for id, a := range got {
		method := strings.Fields(id)[1]
		want := slices.Contains(good, method) && !strings.HasPrefix(id, "tls")
		open := strings.Contains(string(a.Got), "origin ") && a.Done
		if method == "HEAD" {
			open = strings.Contains(string(a.Got), "HTTP/1.1 200 OK")
		}
		if open != want {
			t.Errorf("%s: passed %v, want %v: %s", id, open, want, show(a))
		}
		if !want && !strings.HasPrefix(id, "tls") && !strings.Contains(string(a.Got), status(403)) {
			t.Errorf("%s: it is not told: %s", id, show(a))
		}
	}
	for _, h := range w.Heard() {
		for _, bad := range []string{"PUT ", "POST ", "DELETE ", "PATCH ", "PROPFIND ", "MKCOL ", "PUBLISH "} {
			if strings.Contains(string(h.First), bad) {
				t.Errorf("the registry got %q", h.First)
			}
		}
	}
	s := &seen{records: r.Journal}
	for _, way := range []string{"tcp", "connect", "socks", "http"} {
		if !s.has("deny", way+" "+host+":80") || !s.has("allow", way+" "+host+":80") {
			t.Errorf("the journal lacks a word about %s", way)
		}
	}
	outside(t, w, list)
}

// paths (PX-045): where a rule names a path, no spelling leads beside it.
func paths(t *testing.T, sum *summary) {
	sum.add(&row{id: "PX-045", family: "4"})
	w := begin(t)
	const host = "files.example.com"
	good := []string{"/pub/a", "/pub/a/b?x=../y", "/pub/a?b"}
	bad := []string{"/", "/pub", "/private", "/pubx", "/pub/../private", "/pub/..", "/pub/./a", "/pub//a", "/pub/%2e%2e/private", "/pub/..%2fprivate", "/pub/a%00", "/pub/a;x", "/PUB/a", "/pub/..;/private", "/pub%2fa", "/private?/pub/a", "/pub/\x7f"}
	var list []probe.Probe
	for _, way := range []string{"tcp", "connect", "http"} {
		for _, p := range slices.Concat(good, bad) {
			list = append(list, request(way, "GET", host, p))
		}
	}
	got, _ := try(t, w, []string{"--allow-host", "http://" + host + "/pub/*"}, list)
	for id, a := range got {
		path := strings.Fields(id)[2]
		if want := slices.Contains(good, path); a.Done != want {
			t.Errorf("%s: passed %v, want %v: %s", id, a.Done, want, show(a))
		}
	}
}

// redirected (PX-043): the gate follows nobody. Where an origin sends a client is a
// request of its own, and what would lead it away unasked (Alt-Svc) is taken out.
func redirected(t *testing.T, sum *summary) {
	sum.add(&row{id: "PX-043", family: "4"})
	w := begin(t)
	const host, at = "moved.example.com:8080", "203.0.113.41:8080"
	w.Answer("moved.example.com", []string{"203.0.113.41"})
	log := serve(t, w, "redirect", at)
	follow := []string{"curl", "-sSfL", "-m15", "http://" + host + "/follow"}
	list := []probe.Probe{
		{ID: "follow", Command: follow},
		{ID: "follow by the proxy", Command: append(slices.Clone(follow), "-x", "http://PROXY4")},
		{ID: "ask", Command: []string{"curl", "-sS", "-m15", "-o", "/dev/null", "-w", "%{http_code} %{redirect_url} [%header{alt-svc}]", "http://" + host + "/ask"}},
	}
	got, r := try(t, w, []string{"--allow-host", "http://" + host}, list)
	if a := got["ask"]; string(a.Got) != "302 http://169.254.169.254/latest/ []" {
		t.Errorf("the redirection did not come through, or another service did: %s", show(a))
	}
	for _, id := range []string{"follow", "follow by the proxy"} {
		if got[id].Done {
			t.Errorf("%s: OPEN: %s", id, show(got[id]))
		}
	}
	for _, p := range w.Dialled() {
		if packetText(p) != "tcp "+at {
			t.Errorf("dialled: %s", packetText(p))
		}
	}
	if n := strings.Count(readLog(t, log), "GET "); n != len(list) {
		t.Errorf("the origin got %d requests, want %d: %q", n, len(list), readLog(t, log))
	}
	if s := (&seen{records: r.Journal}); !s.has("deny", "tcp 169.254.169.254:80") || !s.has("deny", "http 169.254.169.254:80") {
		t.Error("the journal has no word of where it led")
	}
	outside(t, w, list)
}
